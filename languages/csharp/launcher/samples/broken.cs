// Never run: the compiler refuses it ahead, to be warm, in errors as they are
// made most.
var numbers = new List<int> { 1, 2 };
int number = "text";
undeclared = numbers.Missing();
Console.WriteLin(number);
string Name() { }
foreach (var item in numbers)
    Console.WriteLine(itm);
numbers.Add("three");
new Missing().Run(1, 2);

class Broken : IComparable
{
    private int hidden = 1;
    public int Late() { int unset; return unset; }
}
