// Compiles a C# submission with Roslyn: every .cs file of its folder becomes
// one program. The host, dotnet.c, calls Prepare, then Submit.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.Emit;
using Microsoft.CodeAnalysis.Text;

namespace Sandpiper;

public static class Compiler
{
    const string Program = "/artifacts/Program.dll";
    // Roslyn's time grows with the square of the depth: with more, a source
    // that is too deep reaches the time limit before the end of the stack.
    const int Stack = 4 << 20;

    static readonly Version Framework = Environment.Version;
    static List<MetadataReference> references;
    static CSharpParseOptions parsing;
    static SyntaxTree implied;

    // Brings the compiler to the point where only the sources are missing.
    [UnmanagedCallersOnly]
    public static void Prepare(IntPtr folder)
    {
        references = Directory.GetFiles(Marshal.PtrToStringUTF8(folder), "*.dll")
            .Select(path => (MetadataReference)MetadataReference.CreateFromFile(path))
            .ToList();
        parsing = new CSharpParseOptions(LanguageVersion.Latest)
            .WithPreprocessorSymbols(Symbols())
            // A script's #:lines are dotnet's own, not the compiler's.
            .WithFeatures([new("FileBasedProgram", "true")]);
        implied = CSharpSyntaxTree.ParseText(Implied(), parsing);
    }

    // Writes the program, or else the errors to stderr. Gives the exit code.
    [UnmanagedCallersOnly]
    public static int Submit(IntPtr entry)
    {
        string path = Marshal.PtrToStringUTF8(entry);
        bool compiled = false;
        var compiling = new Thread(() => compiled = Compile(path), Stack);
        compiling.Start();
        compiling.Join();
        return compiled ? 0 : 1;
    }

    static bool Compile(string entry)
    {
        List<SyntaxTree> trees = Sources.Read(entry, parsing);
        try
        {
            return Emit(trees);
        }
        // What the compiler's own guards do not turn into this error.
        catch (InsufficientExecutionStackException)
        {
            Report([Depth.Error(trees)], trees);
            return false;
        }
    }

    static bool Emit(List<SyntaxTree> trees)
    {
        var options = new CSharpCompilationOptions(
            OutputKind.ConsoleApplication,
            mainTypeName: EntryPoint.Find(trees),
            // Optimised code tells other lines than those that failed.
            optimizationLevel: Sources.WantSpeed(trees[0])
                ? OptimizationLevel.Release : OptimizationLevel.Debug,
            allowUnsafe: true,
            deterministic: true,
            // Threads of the pool have other stacks.
            concurrentBuild: false,
            // Warnings are not shown; without them the analysis is not made.
            nullableContextOptions: NullableContextOptions.Annotations,
            warningLevel: 0);
        var compilation = CSharpCompilation.Create(
            Path.GetFileNameWithoutExtension(Program), [.. trees, implied], references, options);
        var generated = Generators.Run(compilation, trees, parsing, out var complaints);
        using var program = new MemoryStream();
        EmitResult result = generated.Emit(program, options: new EmitOptions(
            debugInformationFormat: DebugInformationFormat.Embedded));
        if (result.Success && !complaints.Any(IsError))
        {
            File.WriteAllBytes(Program, program.ToArray());
            return true;
        }
        Report(complaints.Concat(result.Diagnostics), trees);
        return false;
    }

    static bool IsError(Diagnostic diagnostic) => diagnostic.Severity == DiagnosticSeverity.Error;

    static void Report(IEnumerable<Diagnostic> diagnostics, List<SyntaxTree> trees)
    {
        var text = new StringBuilder();
        var errors = diagnostics
            .Where(IsError)
            .OrderBy(error => trees.IndexOf(error.Location.SourceTree))
            .ThenBy(error => error.Location.SourceSpan.Start)
            // At one place Roslyn gives them in any order.
            .ThenBy(error => error.GetMessage(), StringComparer.Ordinal);
        foreach (Diagnostic error in errors)
            text.Append(CSharpDiagnosticFormatter.Instance.Format(error)).Append('\n');
        using Stream stderr = Console.OpenStandardError();
        stderr.Write(Encoding.UTF8.GetBytes(text.ToString()));
    }

    // The symbols that the SDK defines for a console program under `dotnet run`.
    static IEnumerable<string> Symbols()
    {
        int major = Framework.Major;
        return Enumerable.Range(5, major - 4).Select(version => $"NET{version}_0_OR_GREATER")
            .Concat(["DEBUG", "TRACE", "NET", $"NET{major}_0", "NETCOREAPP"]);
    }

    // What the SDK adds to every console program.
    static string Implied()
    {
        string[] namespaces =
        [
            "System", "System.Collections.Generic", "System.IO", "System.Linq",
            "System.Net.Http", "System.Threading", "System.Threading.Tasks",
        ];
        string usings = string.Concat(namespaces.Select(name => $"global using {name};\n"));
        return usings + "[assembly: System.Runtime.Versioning.TargetFramework("
            + $"\".NETCoreApp,Version=v{Framework.Major}.0\")]\n";
    }
}
