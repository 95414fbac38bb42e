// Runs the framework's source generators for programs that ask for them. If
// the image has none, the compiler reports the missing methods.
using System;
using System.Collections.Generic;
using System.Collections.Immutable;
using System.IO;
using System.Linq;
using System.Reflection;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;

namespace Sandpiper;

static class Generators
{
    const string Folder = "/opt/sandpiper/generators";

    // The word in a source that asks for a generator, its assembly and type.
    static readonly (string Word, string Assembly, string Type)[] Known =
    [
        ("GeneratedRegex", "System.Text.RegularExpressions.Generator",
            "System.Text.RegularExpressions.Generator.RegexGenerator"),
        ("JsonSerializable", "System.Text.Json.SourceGeneration",
            "System.Text.Json.SourceGeneration.JsonSourceGenerator"),
        ("LibraryImport", "Microsoft.Interop.LibraryImportGenerator",
            "Microsoft.Interop.LibraryImportGenerator"),
    ];

    // The compilation with what the generators add, and what they complain of.
    // A generator costs half a second to load, so only those that are asked for
    // run.
    public static Compilation Run(
        CSharpCompilation compilation, List<SyntaxTree> trees, CSharpParseOptions parsing,
        out ImmutableArray<Diagnostic> complaints)
    {
        complaints = [];
        string[] texts = trees.Select(tree => tree.ToString()).ToArray();
        ISourceGenerator[] wanted = Known
            .Where(known => File.Exists(PathOf(known.Assembly)))
            .Where(known => texts.Any(text => text.Contains(known.Word)))
            .Select(known => Load(known.Assembly, known.Type))
            .ToArray();
        if (wanted.Length == 0)
            return compilation;
        CSharpGeneratorDriver.Create(wanted, parseOptions: parsing)
            .RunGeneratorsAndUpdateCompilation(
                compilation, out Compilation complete, out complaints);
        return complete;
    }

    static string PathOf(string assembly) => Path.Combine(Folder, assembly + ".dll");

    static ISourceGenerator Load(string assembly, string type)
    {
        Assembly loaded = Assembly.LoadFrom(PathOf(assembly));
        var generator = (IIncrementalGenerator)Activator.CreateInstance(loaded.GetType(type, true));
        return generator.AsSourceGenerator();
    }
}
