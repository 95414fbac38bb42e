// The source files of a submission, and where its program begins.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.Text;

namespace Sandpiper;

static class Sources
{
    // The entry file, then every other .cs file by its path; each known by the
    // path that it was submitted with.
    public static List<SyntaxTree> Read(string entry, CSharpParseOptions parsing)
    {
        var others = Directory.GetFiles(".", "*.cs", SearchOption.AllDirectories)
            .Select(path => path.Substring("./".Length))
            .Where(path => path != entry)
            .Order(StringComparer.Ordinal);
        return others.Prepend(entry).Select(path => Parse(path, parsing)).ToList();
    }

    // Whether the entry file says `#:property Configuration=Release`, as a
    // script for `dotnet run` does.
    public static bool AreRelease(SyntaxTree entry) => Says(entry, "Configuration=Release");

    public static bool WantSpeed(SyntaxTree entry) => AreRelease(entry) || Says(entry, "Optimize=true");

    static bool Says(SyntaxTree entry, string property) =>
        entry.GetRoot().DescendantTrivia(descendIntoTrivia: false)
            .Where(trivia => trivia.IsKind(SyntaxKind.IgnoredDirectiveTrivia))
            .Select(trivia => string.Concat(trivia.ToString().Where(c => !char.IsWhiteSpace(c))))
            .Any(line => line == $"#:property{property}");

    static SyntaxTree Parse(string path, CSharpParseOptions parsing)
    {
        using FileStream file = File.OpenRead(path);
        var text = SourceText.From(file, Encoding.UTF8, SourceHashAlgorithm.Sha256);
        return CSharpSyntaxTree.ParseText(text, parsing, path);
    }
}

static class EntryPoint
{
    // The type whose Main is the program, if several files have one: the
    // first of the entry file. Null leaves the choice to the compiler.
    public static string Find(List<SyntaxTree> trees)
    {
        if (trees.Any(HasStatements))
            return null;
        List<string> mains = Mains(trees[0]);
        return trees.Sum(tree => Mains(tree).Count) > 1 ? mains.FirstOrDefault() : null;
    }

    static bool HasStatements(SyntaxTree tree) =>
        tree.GetCompilationUnitRoot().Members.Any(member => member is GlobalStatementSyntax);

    static List<string> Mains(SyntaxTree tree) =>
        tree.GetRoot().DescendantNodes(node => node is not BlockSyntax)
            .OfType<MethodDeclarationSyntax>()
            .Where(method => method.Identifier.ValueText == "Main"
                && method.Modifiers.Any(SyntaxKind.StaticKeyword)
                && method.Parent is TypeDeclarationSyntax { TypeParameterList: null })
            .Select(method => FullName(method.Parent))
            .Distinct()
            .ToList();

    static string FullName(SyntaxNode node) =>
        string.Join('.', node.AncestorsAndSelf().Reverse().Select(part => part switch
        {
            BaseNamespaceDeclarationSyntax space => space.Name.ToString(),
            TypeDeclarationSyntax type => type.Identifier.ValueText,
            _ => null,
        }).Where(name => name != null));
}

static class Depth
{
    // csc's words for a source too deep for its stack, at the deepest place.
    public static Diagnostic Error(List<SyntaxTree> trees) => Diagnostic.Create(
        "CS8078", "Compiler", "An expression is too long or complex to compile",
        DiagnosticSeverity.Error, DiagnosticSeverity.Error, true, 0,
        location: trees.Select(Deepest).MaxBy(found => found.Depth).Node.GetLocation());

    static (SyntaxNode Node, int Depth) Deepest(SyntaxTree tree)
    {
        var deepest = (Node: tree.GetRoot(), Depth: 0);
        var open = new Stack<(SyntaxNode Node, int Depth)>([deepest]);
        while (open.TryPop(out var next))
        {
            if (next.Depth > deepest.Depth)
                deepest = next;
            foreach (SyntaxNode child in next.Node.ChildNodes())
                open.Push((child, next.Depth + 1));
        }
        return deepest;
    }
}
