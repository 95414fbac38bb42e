// Uses what programs commonly use, so that the caches which the image's build
// records hold the classes for it. Its output is not read.
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.*;
import java.util.function.Supplier;

public class Training {
    sealed interface Shape permits Circle, Square {}

    record Circle(double radius) implements Shape {}

    record Square(double side, String name) implements Shape {}

    enum Level {
        LOW, MIDDLE, HIGH;

        Level next() {
            return values()[(ordinal() + 1) % values().length];
        }
    }

    interface Greeter {
        String greet(String name);

        default Greeter twice() {
            return name -> greet(greet(name));
        }
    }

    abstract static class Account {
        private static int count;
        protected double balance;
        final int number = ++count;

        abstract double interest();

        void withdraw(double amount) throws Overdrawn {
            if (amount > balance) {
                throw new Overdrawn("balance is " + balance);
            }
            balance -= amount;
        }

        @Override
        public String toString() {
            return String.format("%s[%d, %.2f]", getClass().getSimpleName(), number, balance);
        }
    }

    static class Savings extends Account {
        Savings(double balance) {
            this.balance = balance;
        }

        @Override
        double interest() {
            return balance * 0.02;
        }
    }

    static class Overdrawn extends Exception {
        Overdrawn(String message) {
            super(message);
        }
    }

    static class Stack<T extends Comparable<T>> implements Iterable<T> {
        private final ArrayList<T> items = new ArrayList<>();

        void push(T item) {
            items.add(item);
        }

        Optional<T> largest() {
            return items.stream().max(Comparator.naturalOrder());
        }

        @Override
        public Iterator<T> iterator() {
            return new Iterator<>() {
                private int next = items.size();

                @Override
                public boolean hasNext() {
                    return next > 0;
                }

                @Override
                public T next() {
                    return items.get(--next);
                }
            };
        }
    }

    public static void main(String[] args) throws Exception {
        input();
        language();
        errors();
        Library.use();
    }

    static void input() throws IOException {
        var reader = new BufferedReader(new InputStreamReader(System.in));
        System.out.println(reader.readLine());
        var scanner = new Scanner("3 4.5 word\nthe next line\n");
        System.out.println(scanner.nextInt() + scanner.nextDouble() + scanner.next());
        scanner.nextLine();
        while (scanner.hasNextLine()) {
            System.out.println(scanner.nextLine());
        }
        IO.println("how to print shortly");
    }

    static String describe(Object object) {
        return switch (object) {
            case null -> "null";
            case Circle(double radius) when radius > 1 -> "a circle of " + radius;
            case Circle circle -> circle.toString();
            case Square(var side, var name) -> name + side;
            case Integer number -> "int " + number;
            case String string when string.isEmpty() -> "empty";
            case Level level -> level.name().toLowerCase();
            default -> object.getClass().getName() + " " + object.hashCode();
        };
    }

    static void language() {
        Object[] objects = {new Circle(2), new Circle(0.5), new Square(1, "s"), 5, "", "x",
            Level.HIGH.next(), null, 2.5, 'c', 7L, true, new int[] {1}};
        for (Object object : objects) {
            System.out.println(describe(object));
        }
        Greeter greeter = name -> "Hello, " + name;
        System.out.println(greeter.twice().greet("world"));
        System.out.println(new Circle(1).equals(new Circle(1)) + " " + new Circle(1).hashCode());
        int day = 3;
        switch (day) {
            case 1:
            case 7:
                System.out.println("weekend");
                break;
            default:
                System.out.print("a day\n");
        }
        String word = "two";
        int value = switch (word) {
            case "one" -> 1;
            case "two" -> {
                yield 2;
            }
            default -> 0;
        };
        System.out.println(value > 1 ? "more" : "less");
        System.out.println("""
            A text block,
              with %d lines""".formatted(2));
        Runnable local = new Runnable() {
            @Override
            public void run() {
                System.out.println(word + value);
            }
        };
        local.run();
        if (objects[0] instanceof Circle c && c.radius() > 1) {
            System.out.println(c.radius());
        }
    }

    static void errors() {
        try {
            new Savings(10).withdraw(20);
        } catch (Overdrawn e) {
            System.out.println(e.getMessage());
        } finally {
            System.out.println("done");
        }
        Supplier<Object> array = () -> new int[1][0][0];
        Supplier<Object> division = () -> 1 / Integer.parseInt("0");
        Supplier<Object> text = () -> Integer.parseInt("x");
        Supplier<Object> none = () -> ((String) null).length();
        Supplier<Object> cast = () -> (String) (Object) 1;
        Supplier<Object> list = () -> List.of(1).get(2);
        for (var supplier : List.of(array, division, text, none, cast, list)) {
            try {
                System.out.println(supplier.get());
            } catch (RuntimeException e) {
                System.err.println(e);
                e.printStackTrace();
            }
        }
        throwIn(new Thread(() -> {
            throw new IllegalStateException("in a thread", new RuntimeException("its cause"));
        }));
    }

    static void throwIn(Thread thread) {
        thread.start();
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new RuntimeException(e);
        }
    }
}
