// The assemblies that programs are compiled against.
using System;
using System.Collections.Generic;
using System.IO;
using System.IO.MemoryMappedFiles;
using System.Linq;
using Microsoft.CodeAnalysis;
using Microsoft.Win32.SafeHandles;

namespace Sandpiper;

static class References
{
    // Kept for ever: Roslyn reads in them.
    static readonly List<MemoryMappedViewAccessor> views = [];

    public static List<MetadataReference> Of(string folder) =>
        Directory.GetFiles(folder, "*.dll").Select(Map).ToList();

    // Mapped, not copied as Roslyn would: all boxes have the pages of
    // the image in common, and only those that are read are there at all.
    static MetadataReference Map(string path)
    {
        using var file = MemoryMappedFile.CreateFromFile(
            path, FileMode.Open, null, 0, MemoryMappedFileAccess.Read);
        var view = file.CreateViewAccessor(0, 0, MemoryMappedFileAccess.Read);
        views.Add(view);
        SafeMemoryMappedViewHandle memory = view.SafeMemoryMappedViewHandle;
        var module = ModuleMetadata.CreateFromImage(
            memory.DangerousGetHandle(), (int)new FileInfo(path).Length);
        return AssemblyMetadata.Create(module).GetReference(filePath: path);
    }
}
