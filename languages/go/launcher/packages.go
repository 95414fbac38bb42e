// The packages of a submission: found by their imports, and compiled in order.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"go/build"
	"go/parser"
	"go/token"
	"go/version"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

type builder struct {
	// The entry file, and a folder for what is made.
	entry, scratch string
	// The list of compiled packages, for the tools.
	config string
	// The folder of go.mod, and the path of the module; no path without it.
	root, module string
	// The version of the language that go.mod asks for, or nothing.
	lang string
	// The standard library, and the submission's packages that are compiled.
	known map[string]bool
	// The packages that are being compiled, the outermost first.
	open []string
}

func newBuilder(entry, scratch string) (*builder, error) {
	list, err := os.ReadFile(library)
	if err != nil {
		return nil, err
	}
	b := &builder{entry: entry, scratch: scratch, config: scratch + "/importcfg", known: map[string]bool{"unsafe": true}}
	for line := range bytes.Lines(list) {
		name, _, _ := strings.Cut(strings.TrimPrefix(string(line), "packagefile "), "=")
		b.known[name] = true
	}
	b.findModule(path.Dir(entry))
	return b, os.WriteFile(b.config, list, 0o600)
}

// findModule looks for go.mod in the folder of the entry file and above it.
func (b *builder) findModule(folder string) {
	for {
		text, err := os.ReadFile(path.Join(folder, "go.mod"))
		if err == nil {
			b.root, b.module, b.lang = folder, wordAfter("module", text), wordAfter("go", text)
			return
		}
		if folder == "." {
			return
		}
		folder = path.Dir(folder)
	}
}

// wordAfter returns the word that follows this one at the beginning of a line.
func wordAfter(first string, text []byte) string {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) >= 2 && words[0] == first {
			return strings.Trim(words[1], `"`)
		}
	}
	return ""
}

// compile compiles the package in a folder, after those that it imports, and
// returns its archive.
func (b *builder) compile(folder, name string) (string, error) {
	entry := ""
	if name == "main" {
		entry = path.Base(b.entry)
	}
	pkg, err := find(folder, entry)
	if err != nil {
		return "", err
	}
	if name == "main" && pkg.Name != "main" {
		return "", fmt.Errorf("package %s is not a main package", pkg.Name)
	}
	if name != "main" && pkg.Name == "main" {
		return "", fmt.Errorf("import %q is a program, not an importable package", name)
	}
	b.open = append(b.open, name)
	for _, imported := range pkg.Imports {
		if err := b.need(folder, imported, first(pkg.ImportPos[imported])); err != nil {
			return "", err
		}
	}
	b.open = b.open[:len(b.open)-1]
	archive := fmt.Sprintf("%s/%d.a", b.scratch, len(b.known))
	arguments := []string{"-p=" + name, "-importcfg", b.config, "-o", archive, "-pack", "-complete", "-trimpath", here() + "=>"}
	// A newer version than the compiler's is not refused.
	if lang := version.Lang("go" + b.lang); lang != "" && version.Compare(lang, runtime.Version()) <= 0 {
		arguments = append(arguments, "-lang", lang)
	}
	if len(pkg.EmbedPatterns) > 0 {
		config, err := b.embed(folder, pkg)
		if err != nil {
			return "", err
		}
		arguments = append(arguments, "-embedcfg", config)
	}
	for _, file := range pkg.GoFiles {
		arguments = append(arguments, argument(folder, file))
	}
	return archive, run("compile", arguments...)
}

// need has a package compiled that the package in a folder imports, if it is the
// submission's. Messages begin with `at`.
func (b *builder) need(importer, name, at string) error {
	// The compiler would take @x for a file of options.
	if !fs.ValidPath(name) || strings.Contains(name, "@") {
		return fmt.Errorf("%smalformed import path %q", at, name)
	}
	if !b.mayUse(importer, name) {
		return fmt.Errorf("%suse of internal package %s not allowed", at, name)
	}
	if b.known[name] {
		return nil
	}
	if slices.Contains(b.open, name) {
		return fmt.Errorf("%simport cycle not allowed: %s", at, strings.Join(append(b.open, name), " imports "))
	}
	rest, isOwn := strings.CutPrefix(name+"/", b.module+"/")
	if b.module == "" || !isOwn {
		return fmt.Errorf("%spackage %s is not in std", at, name)
	}
	folder := path.Join(b.root, rest)
	if _, err := os.Stat(folder); err != nil {
		return fmt.Errorf("%spackage %s is not in this module: there is no folder %s", at, name, folder)
	}
	archive, err := b.compile(folder, name)
	if err != nil {
		return err
	}
	b.known[name] = true
	list, err := os.OpenFile(b.config, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer list.Close()
	_, err = fmt.Fprintf(list, "packagefile %s=%s\n", name, archive)
	return err
}

// mayUse returns whether the package in a folder may import this one: an internal
// package is for those below the parent of the folder `internal`.
func (b *builder) mayUse(importer, name string) bool {
	parent, _, isInternal := strings.Cut("/"+name+"/", "/internal/")
	if !isInternal {
		return !strings.HasPrefix(name, "vendor/")
	}
	below, err := filepath.Rel(b.root, importer)
	importer = "/" + path.Join(b.module, below)
	return err == nil && parent != "" && strings.HasPrefix(importer+"/", parent+"/")
}

// find reads a package, with an error that names the files as they were
// submitted. An entry file that a build constraint leaves out is the package by
// itself, as for `go run`.
func find(folder, entry string) (*build.Package, error) {
	context := build.Default
	context.CgoEnabled = false
	if entry != "" && !isBuilt(&context, folder, entry) {
		context.UseAllFiles = true
		context.ReadDir = func(string) ([]fs.FileInfo, error) {
			file, err := os.Stat(path.Join(folder, entry))
			return []fs.FileInfo{file}, err
		}
	}
	pkg, err := context.ImportDir(folder, 0)
	if err := refuseC(&context, folder, pkg); err != nil {
		return nil, err
	}
	var none *build.NoGoError
	var several *build.MultiplePackageError
	switch {
	case err == nil && len(pkg.GoFiles) == 0:
		return nil, fmt.Errorf("no non-test Go files in %s", folder)
	case err == nil:
		return pkg, nil
	case errors.As(err, &none):
		return nil, fmt.Errorf("no Go files in %s", folder)
	case errors.As(err, &several):
		return nil, fmt.Errorf("found packages %s (%s) and %s (%s) in one folder",
			several.Packages[0], several.Files[0], several.Packages[1], several.Files[1])
	case pkg != nil && len(pkg.InvalidGoFiles) > 0:
		// The compiler says it better, and of all files.
		arguments := []string{"-p", "main", "-o", "/dev/null", "-trimpath", here() + "=>"}
		for _, file := range pkg.InvalidGoFiles {
			arguments = append(arguments, argument(folder, file))
		}
		if err := run("compile", arguments...); err != nil {
			return nil, err
		}
	}
	return nil, errors.New(short(err.Error()))
}

// refuseC returns an error if a file of the package imports "C". Without this it
// would be left out, as if a build constraint said so.
func refuseC(context *build.Context, folder string, pkg *build.Package) error {
	for _, file := range pkg.IgnoredGoFiles {
		if !isBuilt(context, folder, file) {
			continue
		}
		places := token.NewFileSet()
		parsed, err := parser.ParseFile(places, path.Join(folder, file), nil, parser.ImportsOnly)
		if err != nil {
			continue
		}
		for _, imported := range parsed.Imports {
			if imported.Path.Value == `"C"` {
				at := first([]token.Position{places.Position(imported.Path.Pos())})
				return fmt.Errorf("%simport \"C\" needs cgo, and there is no C compiler", at)
			}
		}
	}
	return nil
}

// isBuilt returns whether name and build constraint of a file allow it.
func isBuilt(context *build.Context, folder, file string) bool {
	allowed, err := context.MatchFile(folder, file)
	return allowed || err != nil
}

// argument returns the path of a file as the compiler takes it for a file: it reads
// -x as an option, and @x as a file of options.
func argument(folder, file string) string {
	name := path.Join(folder, file)
	if strings.HasPrefix(name, "-") || strings.HasPrefix(name, "@") {
		return "./" + name
	}
	return name
}

// first returns the first of these places, as it begins a message.
func first(places []token.Position) string {
	if len(places) == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d: ", short(places[0].Filename), places[0].Line, places[0].Column)
}

func here() string {
	folder, _ := os.Getwd()
	return folder
}

// short takes the folder of the submission out of a text.
func short(text string) string {
	return strings.ReplaceAll(text, here()+"/", "")
}

// embed writes the list of the files that //go:embed names.
func (b *builder) embed(folder string, pkg *build.Package) (string, error) {
	config := embedConfig{map[string][]string{}, map[string]string{}}
	for _, pattern := range pkg.EmbedPatterns {
		at := first(pkg.EmbedPatternPos[pattern])
		plain, all := strings.CutPrefix(pattern, "all:")
		// The rule of `go build`: nothing is outside the package's folder.
		if plain == "." || !fs.ValidPath(plain) {
			return "", fmt.Errorf("%spattern %s: invalid pattern syntax", at, pattern)
		}
		files := os.DirFS(folder)
		matches, err := fs.Glob(files, plain)
		if err != nil {
			return "", fmt.Errorf("%spattern %s: %w", at, pattern, err)
		}
		for _, match := range matches {
			err := fs.WalkDir(files, match, func(name string, entry fs.DirEntry, err error) error {
				hidden := name != match && !all && strings.IndexAny(entry.Name(), "._") == 0
				switch {
				case err == nil && hidden && entry.IsDir():
					return fs.SkipDir
				case err != nil || hidden || entry.IsDir():
					return err
				}
				return config.add(folder, pattern, name)
			})
			if err != nil {
				return "", err
			}
		}
		if len(config.Patterns[pattern]) == 0 {
			return "", fmt.Errorf("%spattern %s: no matching files found", at, pattern)
		}
	}
	name := fmt.Sprintf("%s/%d.embed", b.scratch, len(b.known))
	return name, config.write(name)
}
