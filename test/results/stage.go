package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// stage is one step of a run.
type stage struct {
	name     string
	command  string // runs the stage again
	status   int
	duration time.Duration
	tests    []suite
	parts    []part // those that failed
	log      []string
}

// part is a make target of a stage that has several and goes on when one fails (hack/make-each.sh).
type part struct {
	name   string
	status int
	log    []string
}

// suite is what one JSON file reports.
type suite struct {
	name    string // of the file, without its extension
	results *results
}

// readStages reads the file "stages", which has a line for each stage that ended: directory, exit status, seconds, name and command,
// separated by tabs.
func readStages(dir string) ([]stage, error) {
	content, err := os.ReadFile(filepath.Join(dir, "stages"))
	if err != nil {
		return nil, fmt.Errorf("read the list of stages: %w", err)
	}
	var stages []stage
	for line := range strings.Lines(string(content)) {
		s, err := readStage(dir, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
		if err != nil {
			return nil, err
		}
		stages = append(stages, s)
	}
	return stages, nil
}

func readStage(dir string, fields []string) (stage, error) {
	if len(fields) != 5 {
		return stage{}, fmt.Errorf("a line of the list of stages has %d fields, not 5: %q", len(fields), fields)
	}
	status, err := strconv.Atoi(fields[1])
	if err != nil {
		return stage{}, fmt.Errorf("read the exit status of %s: %w", fields[3], err)
	}
	seconds, err := strconv.Atoi(fields[2])
	if err != nil {
		return stage{}, fmt.Errorf("read the time of %s: %w", fields[3], err)
	}
	s := stage{name: fields[3], command: fields[4], status: status, duration: time.Duration(seconds) * time.Second}
	files, err := filepath.Glob(filepath.Join(dir, fields[0], "*.json"))
	if err != nil {
		return stage{}, fmt.Errorf("list the results of %s: %w", s.name, err)
	}
	for _, file := range files {
		r, err := readResults(file)
		if err != nil {
			return stage{}, err
		}
		s.tests = append(s.tests, suite{name: strings.TrimSuffix(filepath.Base(file), ".json"), results: r})
	}
	s.log = readLog(filepath.Join(dir, fields[0], "log"))
	s.parts, err = readParts(filepath.Join(dir, fields[0]))
	return s, err
}

// readLog returns the lines of a log. What ended before it printed anything has none.
func readLog(path string) []string {
	log, _ := os.ReadFile(path)
	return nonEmptyLines(string(log))
}

// readParts reads the file "failed", which has a line for each part that failed: exit status and name, separated by a tab.
func readParts(dir string) ([]part, error) {
	content, err := os.ReadFile(filepath.Join(dir, "failed"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of parts that failed: %w", err)
	}
	var parts []part
	for line := range strings.Lines(string(content)) {
		status, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		code, err := strconv.Atoi(status)
		if err != nil {
			return nil, fmt.Errorf("read the exit status of %s: %w", name, err)
		}
		parts = append(parts, part{name, code, readLog(filepath.Join(dir, name+".log"))})
	}
	return parts, nil
}

func nonEmptyLines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n\t "); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
