// The mistakes that the compiler meets most, so that it has the words at hand.
import java.util.*;

public class Mistakes {
    interface Shape {
        double area();
    }

    record Circle(double radius) implements Shape {}

    static int missingReturn(int n) {
        if (n > 0) {
            return 1;
        }
    }

    static void types() {
        int number = "text";
        String text = 5 + 2.5;
        List<String> names = new ArrayList<Integer>();
        names.add(3);
        boolean same = number == text;
        final int constant = 1;
        constant = 2;
        int twice = 1;
        int twice = 2;
    }

    static void names() {
        Strin text = null;
        Scaner input = new Scaner(System.in);
        undefined++;
        System.out.printn("x");
        "x".size();
        new Circle();
        missingReturn("x", 1);
        instance();
        this.toString();
    }

    void instance() {
        for (int i = 0; i < 3; i++) {}
        System.out.println(i);
    }

    static int describe(Object object) {
        return switch (object) {
            case String text -> 1;
            case Integer number -> 2;
        };
    }
}
