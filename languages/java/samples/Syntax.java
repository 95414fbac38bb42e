// Code that the compiler cannot even parse.
public class Syntax {
    public static void main(String[] args) {
        int number = 1
        System.out.println("a" + number;
        String text = "unclosed;
        if (number > 0 {
            number = ;
        }
        for (int i = 0, i < 3; i++) {
        else {
        }
        char c = 'ab';
    }

    void missing( {
    }
