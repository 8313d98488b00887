package shop;

import java.util.List;

/** What somebody has ordered. */
public record Order(List<Item> items) {
    /** What it costs, in cents. */
    public long total() {
        return items.stream().mapToLong(Item::total).sum();
    }
}
