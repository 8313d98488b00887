package shop;

/** One line of an order: so many of a thing, at a price in cents. */
public record Item(String name, long cents, int count) {
    /** What the line costs, in cents. */
    public long total() {
        return cents * count;
    }
}
