# Compiles the compiler of C# submissions with Roslyn, since no csc is at hand.
#
# usage: bootstrap.py DOTNET REFERENCES ROSLYN OUTPUT SOURCE...
#
# Prints the version of Roslyn. REFERENCES and ROSLYN are folders of assemblies.
import pathlib
import sys

import pythonnet
from clr_loader import get_coreclr
from clr_loader.util.find import find_runtimes_in_root


def main(dotnet, references, roslyn, output, *sources):
    dotnet, roslyn = pathlib.Path(dotnet), pathlib.Path(roslyn)
    [runtime] = find_runtimes_in_root(dotnet)
    host = get_coreclr(runtime_spec=runtime, dotnet_root=dotnet)
    pythonnet.load(host)
    import clr

    own = sorted(roslyn.glob("Microsoft.CodeAnalysis*.dll"))
    sys.path.append(str(roslyn))
    for assembly in own:
        clr.AddReference(assembly.stem)
    framework = sorted(pathlib.Path(references).glob("*.dll"))
    compile_library(output, sources, [*framework, *own])


def compile_library(output, sources, assemblies):
    from Microsoft.CodeAnalysis import (
        MetadataReference,
        OptimizationLevel,
        OutputKind,
        SyntaxTree,
    )
    from Microsoft.CodeAnalysis.CSharp import (
        CSharpCompilation,
        CSharpCompilationOptions,
        CSharpSyntaxTree,
    )
    from System.Collections.Generic import List
    from System.Diagnostics import FileVersionInfo
    from System.IO import File

    trees = List[SyntaxTree]()
    for source in sources:
        trees.Add(CSharpSyntaxTree.ParseText(pathlib.Path(source).read_text()))
    references = List[MetadataReference]()
    for assembly in assemblies:
        references.Add(MetadataReference.CreateFromFile(str(assembly)))
    options = CSharpCompilationOptions(
        OutputKind.DynamicallyLinkedLibrary
    ).WithOptimizationLevel(OptimizationLevel.Release)
    compilation = CSharpCompilation.Create(
        pathlib.Path(output).stem, trees, references, options
    )
    file = File.Create(output)
    result = compilation.Emit(file)
    file.Close()
    problems = [str(problem) for problem in result.Diagnostics]
    if not result.Success:
        sys.exit("\n".join(problems))
    roslyn = compilation.GetType().Assembly.Location
    print(FileVersionInfo.GetVersionInfo(roslyn).ProductVersion)


if __name__ == "__main__":
    main(*sys.argv[1:])
