// Code that the compiler refuses after it has understood every type.
import java.io.*;
import java.util.function.Supplier;

public class Flow {
    static int missingReturn(int n) {
        if (n > 0) {
            return 1;
        }
    }

    static int unreachable() {
        return 1;
        System.out.println("never");
    }

    static void unassigned() {
        int number;
        System.out.println(number);
        int count = 0;
        Supplier<Integer> supplier = () -> count;
        count++;
    }

    static void unreported() {
        new FileReader("x").read();
        Thread.sleep(1);
    }

    static final int CONSTANT;

    public static void main(String[] args) {
        final int once = 1;
        once++;
    }
}
