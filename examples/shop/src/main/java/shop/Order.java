package shop;

import java.util.List;

/** The items of an order. */
public record Order(List<Item> items) {
    /** Returns the total of the order, in cents. */
    public long total() {
        return items.stream().mapToLong(Item::total).sum();
    }
}
