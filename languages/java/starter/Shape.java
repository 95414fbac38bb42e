// The shapes that there are: the compiler knows that a switch names all of them.
public sealed interface Shape {
    double area();
}

record Circle(double radius) implements Shape {
    public double area() {
        return Math.PI * radius * radius;
    }
}

record Rectangle(double width, double height) implements Shape {
    public double area() {
        return width * height;
    }
}

record Square(double side) implements Shape {
    public double area() {
        return side * side;
    }
}
