// Command build compiles and links the package of a submission, as `go build`
// does, but for this: it calls the tools themselves, with a list of the compiled
// standard library that the image has.
//
// usage: build ENTRY, in the folder of the submission
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
)

const (
	own = "/opt/sandpiper/go"
	// The compiled standard library, a line for each package.
	library = own + "/importcfg"
	program = "/artifacts/main"
)

func main() {
	if err := buildProgram(os.Args[1]); err != nil {
		if !errors.Is(err, errPrinted) {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
}

func buildProgram(entry string) error {
	scratch, err := os.MkdirTemp("", "build")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	b, err := newBuilder(entry, scratch)
	if err != nil {
		return err
	}
	main, err := b.compile(path.Dir(entry), "main")
	if err != nil {
		return err
	}
	// No debugger comes; messages of the runtime have their lines without it.
	return run("link", "-importcfg", b.config, "-o", program, "-buildmode=exe", "-s", "-w", main)
}

var errPrinted = errors.New("the tool has printed the reason")

// run runs a tool, whose messages are for the author of the program.
func run(tool string, arguments ...string) error {
	command := exec.Command(own+"/"+tool, arguments...)
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	// It ends soon: memory is collected only near the limit. With a home it leaves
	// telemetry there, beside the submission.
	command.Env = append(os.Environ(), "GOGC=off", "GOMEMLIMIT=256MiB", "HOME=")
	err := command.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return errPrinted
	}
	return err
}
