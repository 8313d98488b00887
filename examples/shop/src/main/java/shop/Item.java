package shop;

/** A line of an order: a number of items of one kind, with the price of each in cents. */
public record Item(String name, long cents, int count) {
    /** Returns the total of the line, in cents. */
    public long total() {
        return cents * count;
    }
}
