package simulation

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Result is what came of a run.
type Result struct {
	Config Config
	// Actions are those that were performed, and Log says what they did.
	Actions []Action
	Log     []string
	// Problem is what does not hold, empty if everything does.
	Problem string
}

// Options are what the random mode may use.
type Options struct {
	Steps int
	NACKs bool
	// Ignore has the letters of what need not hold, to look behind what is known.
	Ignore string
}

// Random performs the actions of a seed. It must be called in a bubble of synctest.
func Random(seed uint64, o Options) Result {
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a seed on purpose: what was found can be found again
	c := configOf(random)
	c.NACKs, c.Ignore = o.NACKs, o.Ignore
	s := newSimulation(c)
	defer s.end()
	var actions []Action
	do := func(a Action) {
		s.logf("# %s", a)
		if s.perform(a) {
			actions = append(actions, a)
		}
	}
	do(Action{Verb: settle})
	for range o.Steps {
		if s.problem == "" {
			do(s.choose(random))
		}
	}
	if s.problem == "" {
		do(Action{Verb: settle})
	}
	return Result{c, actions, s.log, s.problem}
}

// Trace performs given actions, as far as they are possible. It must be called in a bubble of synctest.
func Trace(c Config, actions []Action) Result {
	s := newSimulation(c)
	defer s.end()
	var performed []Action
	for _, a := range actions {
		if s.problem != "" {
			break
		}
		s.logf("# %s", a)
		if s.perform(a) {
			performed = append(performed, a)
		}
	}
	return Result{c, performed, s.log, s.problem}
}

// Minimise leaves out what is not needed for a violation of the same kind. run performs a trace.
func Minimise(r Result, run func(Config, []Action) Result) Result {
	same := func(other Result) bool { return other.Problem != "" && other.Problem[:3] == r.Problem[:3] }
	for size := len(r.Actions) / 2; size >= 1; {
		shorter := false
		for at := 0; at+size <= len(r.Actions); {
			rest := append(append([]Action{}, r.Actions[:at]...), r.Actions[at+size:]...)
			if other := run(r.Config, rest); same(other) {
				r, shorter = other, true
			} else {
				at += size
			}
		}
		if !shorter || size > 1 {
			size /= 2
		}
	}
	return r
}

// String is the violation and a trace that [ParseTrace] reads.
func (r Result) String() string {
	config, err := json.Marshal(r.Config)
	if err != nil {
		panic(err)
	}
	text := fmt.Sprintf("%s\nworld %s\n", r.Problem, config)
	for _, a := range r.Actions {
		text += "  " + a.String() + "\n"
	}
	return text
}

// ParseTrace reads a world and actions. Lines before the world are skipped.
func ParseTrace(text string) (c Config, actions []Action, err error) {
	_, text, found := strings.Cut(text, "world ")
	if !found {
		return c, nil, errors.New("there is no world")
	}
	config, rest, _ := strings.Cut(text, "\n")
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return c, nil, fmt.Errorf("read the world: %w", err)
	}
	for line := range strings.Lines(rest) {
		if strings.TrimSpace(line) == "" {
			break
		}
		a, err := ParseAction(line)
		if err != nil {
			return c, nil, err
		}
		actions = append(actions, a)
	}
	return c, actions, nil
}
