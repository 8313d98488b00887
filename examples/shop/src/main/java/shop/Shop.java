package shop;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;

/** Responds to every request with the total of an order. */
public final class Shop {
    private Shop() {}

    public static void main(String[] args) throws IOException {
        var order = new Order(List.of(new Item("tea", 450, 2), new Item("cake", 310, 1)));
        var server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 8000), 0);
        server.createContext("/", exchange -> {
            var answer = (order.total() + "\n").getBytes();
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        server.start();
    }
}
