package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// listed is what go list says of a package.
type listed struct {
	ImportPath     string
	Name           string
	Dir            string
	Doc            string
	GoFiles        []string
	IgnoredGoFiles []string // of other systems
	Module         struct{ Path string }
}

// Load reads all packages of the module whose root is dir.
func Load(dir string) ([]Package, error) {
	list := exec.Command("go", "list", "-json=ImportPath,Name,Dir,Doc,GoFiles,IgnoredGoFiles,Module", "./...")
	list.Dir = dir
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &stderr)
	}
	var pkgs []Package
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := in.Decode(&l); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, err
		}
		p, err := l.read()
		if err != nil {
			return nil, err
		}
		pkgs = append(pkgs, p)
	}
}

// read reads the source of a package.
func (l listed) read() (Package, error) {
	p := Package{Path: strings.TrimPrefix(l.ImportPath, l.Module.Path+"/"), Name: l.Name, Doc: l.Doc}
	for _, name := range append(l.GoFiles, l.IgnoredGoFiles...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(filepath.Join(l.Dir, name))
		if err != nil {
			return Package{}, err
		}
		f, imports, err := readFile(name, src)
		if err != nil {
			return Package{}, err
		}
		p.Files = append(p.Files, f)
		for _, i := range imports {
			p.Imports = append(p.Imports, within(l.Module.Path, i))
		}
	}
	slices.Sort(p.Imports)
	p.Imports = slices.Compact(p.Imports)
	return p, nil
}

// within is an import path as Package has it.
func within(module, imported string) string {
	if rest, ours := strings.CutPrefix(imported, module+"/"); ours {
		return "./" + rest
	}
	return imported
}

// readFile reads one source file, and what it imports.
func readFile(name string, src []byte) (File, []string, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	if err != nil {
		return File{}, nil, err
	}
	var imports []string
	for _, spec := range tree.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return File{}, nil, err
		}
		imports = append(imports, imported)
	}
	return File{Name: name, Lines: bytes.Count(src, []byte("\n")), Clock: clockUses(tree)}, imports, nil
}

// clock is what package time has that looks at the clock or waits for it.
var clock = []string{
	"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep",
}

// clockUses lists what a file uses of a clock, called or not.
func clockUses(tree *ast.File) []string {
	local := timeName(tree)
	if local == "." {
		return []string{"all of package time"}
	}
	var uses []string
	ast.Inspect(tree, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := s.X.(*ast.Ident)
		if ok && local != "" && x.Name == local && slices.Contains(clock, s.Sel.Name) {
			uses = append(uses, "time."+s.Sel.Name)
		}
		return true
	})
	return uses
}

// timeName is what a file calls package time, empty if it does not import it.
func timeName(tree *ast.File) string {
	for _, spec := range tree.Imports {
		switch {
		case spec.Path.Value != `"time"`:
		case spec.Name != nil:
			return spec.Name.Name
		default:
			return "time"
		}
	}
	return ""
}
