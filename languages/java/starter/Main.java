// Adds up the areas of some shapes; the shapes are in Shape.java.
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Collectors;

public class Main {
    public static void main(String[] args) {
        List<Shape> shapes = List.of(
            new Circle(1.5), new Rectangle(4, 2.5), new Square(3), new Circle(0.5));

        shapes.stream()
            .sorted(Comparator.comparingDouble(Shape::area).reversed())
            .forEach(shape ->
                System.out.printf("%-24s %6.2f%n", describe(shape), shape.area()));

        var byKind = shapes.stream().collect(Collectors.groupingBy(
            shape -> shape.getClass().getSimpleName(), TreeMap::new, Collectors.counting()));
        System.out.println(byKind);
    }

    static String describe(Shape shape) {
        return switch (shape) {
            case Circle(double radius) when radius < 1 -> "a small circle";
            case Circle(double radius) -> "a circle of radius " + radius;
            case Rectangle(double width, double height) ->
                "a rectangle, " + width + " by " + height;
            case Square(double side) -> "a square of side " + side;
        };
    }
}
