// The list of embedded files, as the compiler reads it.
package main

import (
	"encoding/json"
	"os"
	"path/filepath"
)

type embedConfig struct {
	Patterns map[string][]string
	Files    map[string]string
}

// add adds a file of the folder for a pattern.
func (c embedConfig) add(folder, pattern, name string) error {
	absolute, err := filepath.Abs(filepath.Join(folder, name))
	c.Patterns[pattern] = append(c.Patterns[pattern], name)
	c.Files[name] = absolute
	return err
}

func (c embedConfig) write(name string) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o600)
}
