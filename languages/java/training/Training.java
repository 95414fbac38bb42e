// Uses what programs commonly use, so that the caches which the image's build
// records hold the classes for it. What it prints is not read.
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.time.format.DateTimeFormatter;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.*;
import java.util.regex.Pattern;
import java.util.stream.*;

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
        collections();
        streams();
        numbers();
        text();
        threads();
        files();
        loops();
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

    static void collections() {
        Map<String, Integer> counts = new HashMap<>();
        for (String word : "the cat and the dog and the bird".split(" ")) {
            counts.merge(word, 1, Integer::sum);
        }
        for (Map.Entry<String, Integer> entry : new TreeMap<>(counts).entrySet()) {
            System.out.println(entry.getKey() + ": " + entry.getValue());
        }
        System.out.println(counts + " " + counts.getOrDefault("x", 0) + counts.keySet());
        Deque<Integer> deque = new ArrayDeque<>(List.of(3, 1, 2));
        deque.push(9);
        deque.addLast(4);
        Queue<int[]> queue = new PriorityQueue<>((a, b) -> a[0] - b[0]);
        queue.add(new int[] {2, 1});
        queue.offer(new int[] {1, 5});
        System.out.println(deque.poll() + " " + queue.remove()[1]);
        var linked = new LinkedList<>(deque);
        linked.removeIf(number -> number > 3);
        linked.sort(Comparator.reverseOrder());
        Collections.shuffle(linked, new Random(1));
        Collections.sort(linked);
        System.out.println(linked + " " + new LinkedHashMap<>(Map.of("a", 1))
            + new HashSet<>(linked) + new TreeSet<>(linked).first() + EnumSet.allOf(Level.class));
        int[] numbers = {5, 3, 8};
        Arrays.sort(numbers);
        Integer[] boxed = {3, 1, 2};
        Arrays.sort(boxed, Collections.reverseOrder());
        int[][] grid = new int[3][4];
        Arrays.fill(grid[1], 7);
        System.out.println(Arrays.toString(numbers) + Arrays.deepToString(grid)
            + Arrays.asList(boxed) + Arrays.binarySearch(numbers, 5));
        var stack = new Stack<String>();
        stack.push("a");
        stack.push("b");
        for (String item : stack) {
            System.out.println(item + stack.largest().orElse("none"));
        }
        var accounts = new ArrayList<Account>(List.of(new Savings(5), new Savings(3)));
        accounts.sort(Comparator.comparing(account -> account.balance));
        accounts.forEach(account -> System.out.println(account + " " + account.interest()));
        var map = new TreeMap<Integer, List<String>>();
        map.computeIfAbsent(1, key -> new ArrayList<>()).add("x");
        map.putIfAbsent(2, List.of());
        map.forEach((key, list) -> System.out.println(key + "=" + list));
        System.out.println(map.firstKey() + " " + map.floorKey(5) + map.headMap(2));
    }

    static void streams() {
        var words = List.of("pear", "fig", "apple", "kiwi", "banana");
        System.out.println(words.stream().filter(word -> word.length() > 3).map(String::toUpperCase)
            .sorted(Comparator.comparing(String::length).thenComparing(Function.identity()))
            .collect(Collectors.joining(", ", "[", "]")));
        System.out.println(words.stream().collect(Collectors.groupingBy(String::length)));
        System.out.println(words.stream().collect(
            Collectors.partitioningBy(word -> word.contains("a"), Collectors.counting())));
        Map<String, Integer> lengths = words.stream().collect(
            Collectors.toMap(word -> word, String::length, (a, b) -> a, TreeMap::new));
        System.out.println(lengths);
        System.out.println(IntStream.rangeClosed(1, 5).boxed().map(n -> n * n).toList());
        System.out.println(IntStream.range(0, 5).filter(n -> n % 2 == 0).sum()
            + words.stream().mapToInt(String::length).average().orElse(0)
            + " " + IntStream.of(3, 1).summaryStatistics() + Stream.of(1, 2).reduce(0, Integer::sum));
        System.out.println(Stream.iterate(1, n -> n * 2).limit(8).skip(1).toList()
            + words.stream().flatMap(word -> word.chars().mapToObj(c -> (char) c)).distinct()
                .map(String::valueOf).collect(Collectors.toCollection(ArrayList::new)).toString());
        System.out.println(words.stream().anyMatch("fig"::equals) + " "
            + words.stream().max(Comparator.naturalOrder()).get()
            + Arrays.stream(new int[] {1, 2}).map(n -> n + 1).boxed().collect(Collectors.toSet())
            + Arrays.stream(new double[] {1, 2}).sum()
            + words.parallelStream().mapToInt(String::length).sum());
        words.stream().findFirst().ifPresent(System.out::println);
        Predicate<String> isShort = word -> word.length() < 4;
        BiFunction<Integer, Integer, Integer> add = (a, b) -> a + b;
        UnaryOperator<String> mark = word -> word + "!";
        System.out.println(isShort.negate().test("fig") + " " + add.andThen(n -> n * 2).apply(1, 2)
            + mark.apply("x") + Optional.of("y").map(mark).filter(isShort).isPresent());
    }

    static void numbers() {
        System.out.printf("%d %5d %05d %x %,d %.3f %10.2f|%-8s|%8s|%c %b %e %%%n", 1, 2, 3, 255,
            1234567, Math.PI, 2.5, "left", "right", 'c', true, 12345.678);
        System.out.println(Math.sqrt(2) + " " + Math.pow(2, 10) + Math.max(1, 2) + Math.abs(-1.5)
            + Math.round(2.5) + Math.floorMod(-1, 3) + Math.random() * 0 + Math.hypot(3, 4));
        System.out.println(Integer.MAX_VALUE + " " + Long.parseLong("12") + Double.parseDouble("1.5")
            + Integer.toBinaryString(10) + Integer.toHexString(255) + (char) ('a' + 1) + 0.1f
            + Double.compare(1, 2) + Integer.compare(2, 1) + Integer.valueOf(127).equals(127)
            + Character.isDigit('1') + Character.getNumericValue('7') + Character.isLetter('x'));
        System.out.println(BigInteger.TWO.pow(100).mod(BigInteger.valueOf(97))
            + " " + new BigDecimal("1.10").add(new BigDecimal("2.205")).setScale(2,
                java.math.RoundingMode.HALF_UP));
        var random = new Random(42);
        System.out.println(random.nextInt(10) + random.nextDouble() + " " + System.nanoTime() * 0
            + System.currentTimeMillis() * 0 + ThreadLocalRandom.current().nextInt(1));
        System.out.println(LocalDate.of(2026, 1, 31).plusMonths(1)
            .format(DateTimeFormatter.ofPattern("yyyy-MM-dd")) + LocalDate.EPOCH.getDayOfWeek()
            + Duration.ofMinutes(90));
    }

    static void text() {
        String text = "  Hello, Wörld  ";
        var builder = new StringBuilder();
        for (char c : text.strip().toCharArray()) {
            builder.append(c).append(1).insert(0, '<');
        }
        System.out.println(builder.reverse().toString() + builder.length());
        System.out.println(text.trim().substring(2, 5) + text.indexOf("W") + text.replace('l', 'L')
            + text.charAt(3) + text.isBlank() + "ab".repeat(3) + String.join("-", "a", "b")
            + "a,b,,c".split(",").length + text.toUpperCase() + "b".compareTo("a")
            + "x".equalsIgnoreCase("X") + text.contains("lo") + text.startsWith("  ")
            + text.lines().count() + text.replaceAll("\\s+", " ") + String.valueOf(new char[] {'c'}));
        var matcher = Pattern.compile("(\\w+), (?<name>\\p{L}+)").matcher(text);
        if (matcher.find()) {
            System.out.println(matcher.group(1) + matcher.group("name"));
        }
    }

    static void threads() throws Exception {
        var counter = new AtomicInteger();
        int[] shared = {0};
        Runnable work = () -> {
            for (int i = 0; i < 100; i++) {
                counter.incrementAndGet();
                synchronized (shared) {
                    shared[0]++;
                }
            }
        };
        Thread[] threads = {new Thread(work), new Thread(work, "second"), Thread.ofVirtual().unstarted(work)};
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        try (var pool = Executors.newFixedThreadPool(2)) {
            Future<Integer> future = pool.submit(() -> 6 * 7);
            System.out.println(future.get() + pool.invokeAll(List.of(() -> 1)).size());
        }
        try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
            pool.submit(work).get();
        }
        System.out.println(CompletableFuture.supplyAsync(() -> 20).thenApply(n -> n + 1)
            .thenCombine(CompletableFuture.completedFuture(1), Integer::sum).get());
        var map = new ConcurrentHashMap<String, Integer>();
        map.merge("a", 1, Integer::sum);
        var latch = new CountDownLatch(1);
        latch.countDown();
        latch.await(1, TimeUnit.SECONDS);
        Thread.sleep(1);
        System.out.println(map + " " + counter + shared[0]);
    }

    static void files() throws IOException {
        Path path = Files.createTempFile("training", ".txt");
        Files.writeString(path, "one\ntwo\n");
        try (var lines = Files.lines(path)) {
            System.out.println(lines.count() + Files.readAllLines(path).getFirst());
        }
        Files.delete(path);
    }

    static void loops() {
        boolean[] composite = new boolean[200_000];
        int primes = 0;
        for (int i = 2; i < composite.length; i++) {
            if (!composite[i]) {
                primes++;
                for (long j = (long) i * i; j < composite.length; j += i) {
                    composite[(int) j] = true;
                }
            }
        }
        var list = new ArrayList<Integer>();
        for (int i = 0; i < 20_000; i++) {
            list.add(i * 31 % 1000);
        }
        Collections.sort(list);
        var counts = new HashMap<Integer, Integer>();
        for (int number : list) {
            counts.put(number, counts.getOrDefault(number, 0) + 1);
        }
        int sum = 0;
        do {
            sum += counts.size();
        } while (sum < 10_000);
        System.out.println(primes + " " + sum + " " + fibonacci(20));
    }

    static int fibonacci(int n) {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }
}
