// Compiles a C# submission with Roslyn: every .cs file of its folder becomes
// one program. The host, dotnet.c, calls Prepare, WarmUp if there is time
// for it, then Submit.
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

namespace Sandpiper;

public static class Compiler
{
    const string Program = "/artifacts/Program.dll";
    // Roslyn's time grows with the square of the depth: with more, a source
    // that is too deep reaches the time limit before the end of the stack.
    const int Stack = 4 << 20;
    // That of the SDK for this version of .NET.
    const int WarningLevel = 9;

    static readonly Version Framework = Environment.Version;
    static CSharpParseOptions parsing;
    // The part that all programs have: the references, and the files that the SDK adds.
    static CSharpCompilation common;

    // Brings the compiler to the point where only the sources are missing.
    [UnmanagedCallersOnly]
    public static void Prepare(IntPtr folder)
    {
        parsing = new CSharpParseOptions(LanguageVersion.Latest)
            .WithPreprocessorSymbols(Symbols("DEBUG"))
            // A script's #:lines are dotnet's own, not the compiler's.
            .WithFeatures([new("FileBasedProgram", "true")]);
        var options = new CSharpCompilationOptions(
            OutputKind.ConsoleApplication,
            allowUnsafe: true,
            deterministic: true,
            // Threads of the pool have other stacks.
            concurrentBuild: false,
            // Without warnings, which few ask for, the analysis is not made.
            nullableContextOptions: NullableContextOptions.Annotations,
            warningLevel: 0);
        common = CSharpCompilation.Create(
            Path.GetFileNameWithoutExtension(Program),
            [CSharpSyntaxTree.ParseText(Implied(), parsing)],
            References.Of(Marshal.PtrToStringUTF8(folder)),
            options);
    }

    // Compiles each file of the folder for nothing. Then the runtime has compiled the
    // compiler's own code, and the references that it reads are in memory.
    [UnmanagedCallersOnly]
    public static void WarmUp(IntPtr folder)
    {
        foreach (string sample in Directory.GetFiles(Marshal.PtrToStringUTF8(folder)))
            OnItsStack(() => Compile(sample, false, out _, out _));
        // Half of the memory is only the samples'.
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
    }

    // Writes the program, or else the errors to stderr; warnings too, if they are
    // asked for. Gives the exit code.
    [UnmanagedCallersOnly]
    public static int Submit(IntPtr entry, int warnings)
    {
        string path = Marshal.PtrToStringUTF8(entry);
        byte[] program = null;
        string messages = null;
        OnItsStack(() => Compile(path, warnings != 0, out program, out messages));
        if (program != null)
            File.WriteAllBytes(Program, program);
        using Stream stderr = Console.OpenStandardError();
        stderr.Write(Encoding.UTF8.GetBytes(messages));
        return program != null ? 0 : 1;
    }

    static void OnItsStack(ThreadStart work)
    {
        var thread = new Thread(work, Stack);
        thread.Start();
        thread.Join();
    }

    // Gives the program, or null, and the errors, or also the warnings.
    static void Compile(string entry, bool warnings, out byte[] program, out string messages)
    {
        program = null;
        List<SyntaxTree> trees = Sources.Read(entry, parsing);
        if (Sources.AreRelease(trees[0]))
            trees = Sources.Read(entry, parsing.WithPreprocessorSymbols(Symbols("RELEASE")));
        try
        {
            using var image = new MemoryStream();
            IEnumerable<Diagnostic> complaints = Emit(trees, warnings, image, out bool good);
            program = good ? image.ToArray() : null;
            messages = Text(warnings ? complaints : complaints.Where(IsError), trees);
        }
        // The compiler's own guards do not turn every overflow into this error.
        catch (InsufficientExecutionStackException)
        {
            messages = Text([Depth.Error(trees)], trees);
        }
    }

    static IEnumerable<Diagnostic> Emit(List<SyntaxTree> trees, bool warnings, Stream image, out bool good)
    {
        CSharpCompilationOptions options = common.Options
            .WithMainTypeName(EntryPoint.Find(trees))
            .WithWarningLevel(warnings ? WarningLevel : 0)
            .WithNullableContextOptions(warnings
                ? NullableContextOptions.Enable : NullableContextOptions.Annotations)
            // Optimised code reports other lines than those that failed.
            .WithOptimizationLevel(Sources.WantSpeed(trees[0])
                ? OptimizationLevel.Release : OptimizationLevel.Debug);
        var compilation = common.RemoveAllSyntaxTrees()
            .AddSyntaxTrees(trees.Concat(common.SyntaxTrees))
            .WithOptions(options);
        var generated = Generators.Run(compilation, trees, parsing, out var complaints);
        EmitResult result = generated.Emit(image, options: new EmitOptions(
            debugInformationFormat: DebugInformationFormat.Embedded));
        good = result.Success && !complaints.Any(IsError);
        return complaints.Concat(result.Diagnostics);
    }

    static bool IsError(Diagnostic diagnostic) => diagnostic.Severity == DiagnosticSeverity.Error;

    static string Text(IEnumerable<Diagnostic> diagnostics, List<SyntaxTree> trees)
    {
        var text = new StringBuilder();
        var shown = diagnostics
            .Where(diagnostic => diagnostic.Severity >= DiagnosticSeverity.Warning)
            .OrderBy(error => trees.IndexOf(error.Location.SourceTree))
            .ThenBy(error => error.Location.SourceSpan.Start)
            // At one place Roslyn gives them in any order.
            .ThenBy(error => error.GetMessage(), StringComparer.Ordinal);
        foreach (Diagnostic error in shown)
            text.Append(CSharpDiagnosticFormatter.Instance.Format(error)).Append('\n');
        return text.ToString();
    }

    // The symbols that the SDK defines for a console program under `dotnet run`.
    static IEnumerable<string> Symbols(string configuration)
    {
        int major = Framework.Major;
        return Enumerable.Range(5, major - 4).Select(version => $"NET{version}_0_OR_GREATER")
            .Concat([configuration, "TRACE", "NET", $"NET{major}_0", "NETCOREAPP"]);
    }

    // The source that the SDK adds to every console program.
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
