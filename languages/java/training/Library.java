// Uses the library as programs commonly do; see Training.java.
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
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

class Library {
    static void use() throws Exception {
        collections();
        streams();
        numbers();
        text();
        threads();
        files();
        loops();
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
            + new HashSet<>(linked) + new TreeSet<>(linked).first()
            + EnumSet.allOf(Training.Level.class));
        int[] numbers = {5, 3, 8};
        Arrays.sort(numbers);
        Integer[] boxed = {3, 1, 2};
        Arrays.sort(boxed, Collections.reverseOrder());
        int[][] grid = new int[3][4];
        Arrays.fill(grid[1], 7);
        System.out.println(Arrays.toString(numbers) + Arrays.deepToString(grid)
            + Arrays.asList(boxed) + Arrays.binarySearch(numbers, 5));
        var stack = new Training.Stack<String>();
        stack.push("a");
        stack.push("b");
        for (String item : stack) {
            System.out.println(item + stack.largest().orElse("none"));
        }
        var accounts = new ArrayList<Training.Account>(
            List.of(new Training.Savings(5), new Training.Savings(3)));
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
            + " " + IntStream.of(3, 1).summaryStatistics()
            + Stream.of(1, 2).reduce(0, Integer::sum));
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
        System.out.println(Integer.MAX_VALUE + " " + Long.parseLong("12")
            + Double.parseDouble("1.5")
            + Integer.toBinaryString(10) + Integer.toHexString(255) + (char) ('a' + 1) + 0.1f
            + Double.compare(1, 2) + Integer.compare(2, 1) + Integer.valueOf(127).equals(127)
            + Character.isDigit('1') + Character.getNumericValue('7') + Character.isLetter('x'));
        System.out.println(BigInteger.TWO.pow(100).mod(BigInteger.valueOf(97))
            + " " + new BigDecimal("1.10").add(new BigDecimal("2.205")).setScale(2,
                RoundingMode.HALF_UP));
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
            + text.lines().count() + text.replaceAll("\\s+", " ")
            + String.valueOf(new char[] {'c'}));
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
        Thread[] threads = {
            new Thread(work), new Thread(work, "second"), Thread.ofVirtual().unstarted(work)
        };
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
