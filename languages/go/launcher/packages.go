// The packages of a submission: found by their imports, and compiled in order.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"go/build"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

type builder struct {
	scratch string
	// The list of compiled packages, for the tools.
	config string
	// The folder of go.mod, and the path of the module; no path without it.
	root, module string
	// The standard library, and the submission's packages that are compiled.
	known map[string]bool
	// The packages that are being compiled, the outermost first.
	open []string
}

func newBuilder(scratch, folder string) (*builder, error) {
	list, err := os.ReadFile(library)
	if err != nil {
		return nil, err
	}
	b := &builder{scratch: scratch, config: scratch + "/importcfg", known: map[string]bool{"unsafe": true}}
	for line := range bytes.Lines(list) {
		name, _, _ := strings.Cut(strings.TrimPrefix(string(line), "packagefile "), "=")
		b.known[name] = true
	}
	b.findModule(folder)
	return b, os.WriteFile(b.config, list, 0o600)
}

// findModule looks for go.mod in the folder of the entry file and above it.
func (b *builder) findModule(folder string) {
	for {
		text, err := os.ReadFile(path.Join(folder, "go.mod"))
		if err == nil {
			b.root, b.module = folder, moduleOf(text)
			return
		}
		if folder == "." {
			return
		}
		folder = path.Dir(folder)
	}
}

func moduleOf(text []byte) string {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) >= 2 && words[0] == "module" {
			return strings.Trim(words[1], `"`)
		}
	}
	return ""
}

// compile compiles the package in a folder, after those that it imports, and
// returns its archive.
func (b *builder) compile(folder, name string) (string, error) {
	pkg, err := find(folder)
	if err != nil {
		return "", err
	}
	if name == "main" && pkg.Name != "main" {
		return "", fmt.Errorf("package %s is not a main package", pkg.Name)
	}
	b.open = append(b.open, name)
	for _, imported := range pkg.Imports {
		if err := b.need(imported, pkg.ImportPos[imported]); err != nil {
			return "", err
		}
	}
	b.open = b.open[:len(b.open)-1]
	archive := fmt.Sprintf("%s/%d.a", b.scratch, len(b.known))
	arguments := []string{"-p", name, "-importcfg", b.config, "-o", archive, "-pack", "-complete", "-trimpath", here() + "=>"}
	if len(pkg.EmbedPatterns) > 0 {
		config, err := b.embed(folder, pkg)
		if err != nil {
			return "", err
		}
		arguments = append(arguments, "-embedcfg", config)
	}
	for _, file := range pkg.GoFiles {
		arguments = append(arguments, path.Join(folder, file))
	}
	return archive, run("compile", arguments...)
}

// need has a package compiled that is imported, if it is the submission's.
func (b *builder) need(name string, places []token.Position) error {
	if b.known[name] {
		return nil
	}
	at := first(places)
	if slices.Contains(b.open, name) {
		return fmt.Errorf("%simport cycle not allowed: %s", at, strings.Join(append(b.open, name), " imports "))
	}
	rest, isOwn := strings.CutPrefix(name, b.module+"/")
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

// find reads a package, with an error that names the files as they were
// submitted.
func find(folder string) (*build.Package, error) {
	context := build.Default
	context.CgoEnabled = false
	pkg, err := context.ImportDir(folder, 0)
	var none *build.NoGoError
	var several *build.MultiplePackageError
	switch {
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
			arguments = append(arguments, path.Join(folder, file))
		}
		if err := run("compile", arguments...); err != nil {
			return nil, err
		}
	}
	return nil, errors.New(short(err.Error()))
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
		matches, err := filepath.Glob(filepath.Join(folder, plain))
		if err != nil {
			return "", fmt.Errorf("%spattern %s: %w", at, pattern, err)
		}
		for _, match := range matches {
			err := filepath.WalkDir(match, func(file string, entry fs.DirEntry, err error) error {
				hidden := file != match && strings.IndexAny(entry.Name(), "._") == 0
				if err != nil || entry.IsDir() || hidden && !all {
					return err
				}
				return config.add(folder, pattern, file)
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
