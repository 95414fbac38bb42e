// Never run: the compiler compiles it to be warm. It has the classic style of
// namespaces, classes and a Main.
using System;
using System.Collections;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;

namespace Sandpiper.Samples
{
    public delegate void Changed(object sender, EventArgs e);

    public interface IShape : IComparable<IShape>
    {
        double Area { get; }
        string Name => GetType().Name;
    }

    public abstract class Shape : IShape
    {
        private static int made;
        protected readonly string label;
        public event Changed? Moved;
        public event EventHandler<int>? Grown;

        protected Shape(string label)
        {
            this.label = label ?? throw new ArgumentNullException(nameof(label));
            made++;
        }

        public abstract double Area { get; }
        public static int Made => made;
        public virtual void Move(int by = 1)
        {
            Moved?.Invoke(this, EventArgs.Empty);
            if (Grown != null)
                Grown(this, by);
        }
        public int CompareTo(IShape? other) => Area.CompareTo(other?.Area ?? 0.0);
        public override string ToString() => string.Format("{0} ({1:0.00})", label, Area);
        public override bool Equals(object? other) => other is Shape shape && shape.label == label;
        public override int GetHashCode() => HashCode.Combine(label, Area);
    }

    public sealed class Circle : Shape
    {
        public const double Pi = 3.14159;
        private double radius;
        public Circle(double radius) : base("circle") { this.radius = radius; }
        public double Radius
        {
            get { return radius; }
            set
            {
                if (value < 0)
                    throw new ArgumentOutOfRangeException(nameof(value), "negative");
                radius = value;
            }
        }
        public override double Area => Pi * Math.Pow(radius, 2);
    }

    public class Box : Shape
    {
        public int Width { get; set; }
        public int Height { get; private set; }
        public Box(int width, int height) : base("box")
        {
            Width = width;
            Height = height;
        }
        public override double Area => Width * (double)Height;
        public override void Move(int by)
        {
            base.Move(by);
            Width += by << 1;
            Height -= by & 3 | 1;
        }
        public static bool operator ==(Box a, Box b) => a.Equals(b);
        public static bool operator !=(Box a, Box b) => !(a == b);
        public static explicit operator int(Box box) => (int)box.Area;
        public override bool Equals(object? other) => base.Equals(other);
        public override int GetHashCode() => base.GetHashCode();
    }

    public struct Vector
    {
        public double X, Y;
        public Vector(double x, double y) { X = x; Y = y; }
        public static Vector operator *(Vector v, double by) => new Vector(v.X * by, v.Y * by);
    }

    public class Tree<T> : IEnumerable<T> where T : IComparable<T>
    {
        private class Node
        {
            public T Value;
            public Node? Left, Right;
            public Node(T value) { Value = value; }
        }

        private Node? root;
        public int Count { get; private set; }

        public T this[int index] => this.ElementAt(index);

        public bool Add(T value)
        {
            if (root == null)
            {
                root = new Node(value);
                Count++;
                return true;
            }
            Node node = root;
            while (true)
            {
                int order = value.CompareTo(node.Value);
                if (order == 0)
                    return false;
                ref Node? next = ref order < 0 ? ref node.Left : ref node.Right;
                if (next == null)
                {
                    next = new Node(value);
                    ++Count;
                    return true;
                }
                node = next;
            }
        }

        private static IEnumerable<T> Walk(Node? node)
        {
            if (node == null)
                yield break;
            foreach (T value in Walk(node.Left))
                yield return value;
            yield return node.Value;
            foreach (T value in Walk(node.Right))
                yield return value;
        }

        public IEnumerator<T> GetEnumerator() => Walk(root).GetEnumerator();
        IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
    }

    public class Log : IDisposable
    {
        private readonly TextWriter writer;
        public Log(TextWriter writer) => this.writer = writer;
        public void Write(string format, params object[] values) => writer.WriteLine(format, values);
        public void Dispose() => writer.Flush();
    }

    public class RefusedException : Exception
    {
        public RefusedException(string message, Exception? inner = null)
            : base(message, inner) { }
    }

    internal static class Program
    {
        private static readonly Random random = new Random(42);
        private static int[,] grid = new int[3, 4];
        private static readonly int[][] jagged = { new[] { 1, 2 }, new int[3] };

        private static void Swap<T>(ref T a, ref T b)
        {
            T kept = a;
            a = b;
            b = kept;
        }

        private static void Sort(int[] values)
        {
            for (int i = 0; i < values.Length - 1; i++)
                for (int j = 0; j < values.Length - i - 1; j++)
                    if (values[j] > values[j + 1])
                        Swap(ref values[j], ref values[j + 1]);
        }

        private static bool Parse(string line, out int number, char unit = 'm')
        {
            number = 0;
            switch (line.Length)
            {
                case 0:
                    return false;
                case 1 when char.IsDigit(line[0]):
                    number = line[0] - '0';
                    return true;
                default:
                    if (line.EndsWith(unit.ToString()))
                        goto case 0;
                    return int.TryParse(line, out number);
            }
        }

        private static int Main(string[] args)
        {
            var shapes = new List<IShape>() { new Circle(1.5f), new Box(2, 3) };
            shapes.Sort((a, b) => a.CompareTo(b));
            foreach (IShape shape in shapes)
            {
                var circle = shape as Circle;
                if (circle != null)
                    circle.Radius *= 2;
                else if (shape is Box box && (int)box > 5)
                    box.Grown += delegate (object? sender, int by) { Console.WriteLine(by); };
                Console.WriteLine("{0,-10}|{1,8:N2}", shape.Name, shape.Area);
            }
            var tree = new Tree<string>();
            using (var log = new Log(Console.Out))
            {
                foreach (string name in new[] { "b", "a", "c" })
                    if (!tree.Add(name))
                        log.Write("{0} again", name);
            }
            grid[1, 2] = jagged[0][1] + random.Next(1, 7);
            int[] values = { 5, 2, 9 };
            Sort(values);
            Array.Reverse(values);
            string? line;
            try
            {
                while ((line = Console.ReadLine()) != null)
                {
                    if (!Parse(line, out int number))
                        throw new RefusedException("not a number: " + line);
                    long product = number * 3L;
                    decimal price = 1.5m * number;
                    uint bits = ~0u >> (number % 8);
                    Console.WriteLine(product + " " + price + " " + bits + (char)('a' + 1));
                }
            }
            catch (RefusedException refused)
            {
                Console.Error.WriteLine(refused.Message);
                return 1;
            }
            catch
            {
                throw;
            }
            DateTime? when = null;
            int length = when?.Year ?? tree.Count;
            unchecked { length += int.MaxValue; }
            Vector vector = new Vector(1, 2) * 2.0;
            Func<double, double> square = x => x * x;
            bool far = square(vector.X) > 3 && typeof(Box).IsClass;
            Console.WriteLine(far ? "yes" : default(string));
            return 0;
        }
    }
}
