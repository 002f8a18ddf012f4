package scripts

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checkout is a directory with some of the scripts of the repository. Programs in its directory "programs" stand for those of the machine.
type checkout struct {
	t           *testing.T
	dir         string
	environment []string
}

func newCheckout(t *testing.T, scripts ...string) checkout {
	t.Helper()
	c := checkout{t: t, dir: t.TempDir()}
	c.copy(scripts...)
	path := filepath.Join(c.dir, "programs") + ":" + os.Getenv("PATH")
	c.environment = append(os.Environ(),
		"PATH="+path, "GATEWRIGHT_CACHE="+t.TempDir(), "RESULTS=", "MAKEFLAGS=", "GATE_STAGE=", "RETRY_WAIT=0")
	return c
}

// copy copies scripts of the repository.
func (c checkout) copy(scripts ...string) {
	c.t.Helper()
	for _, script := range scripts {
		content, err := os.ReadFile(filepath.Join("..", "..", script))
		if err != nil {
			c.t.Fatal(err)
		}
		c.write(script, string(content))
	}
}

// write writes a file that can be run.
func (c checkout) write(name, content string) {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o755)); err != nil {
		c.t.Fatal(err)
	}
}

func (c checkout) read(name string) string {
	c.t.Helper()
	content, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(content)
}

// git runs git in the checkout and returns what it prints.
func (c checkout) git(argv ...string) string {
	c.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-C", c.dir}, argv...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("git %v: %v\n%s", argv, err, out)
	}
	return string(out)
}

func (c checkout) commitAll() {
	c.t.Helper()
	c.git("init", "--quiet")
	c.git("add", ".")
	c.git("commit", "--quiet", "--message=all")
}

func (c checkout) command(argv ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.dir, argv[0]), argv[1:]...)
	cmd.Dir, cmd.Env = c.dir, c.environment
	return cmd
}

// run returns what a script prints and its exit code.
func (c checkout) run(argv ...string) (output string, code int) {
	c.t.Helper()
	out, err := c.command(argv...).CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	} else if err != nil {
		code = exit.ExitCode()
	}
	return string(out), code
}

// expect fails the test unless the output has all texts.
func expect(t *testing.T, output string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(output, text) {
			t.Errorf("the output does not have %q:\n%s", text, output)
		}
	}
}
