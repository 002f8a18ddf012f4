package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"time"
)

// order is what a process that measures a scenario is told first. Profile has it look at what the heap consists of, and at nothing
// else: looking takes time.
type order struct {
	Scenario scenario
	Profile  bool
}

// turns is how often each scenario has its turn. The machine may be busy with something else at times; scenarios that take turns all
// see the same of it.
const turns = 5

// attend builds a scenario, says what it took, and then makes as many changes as it is told, each time it is told.
func attend(in io.Reader, out io.Writer) error {
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	var o order
	if err := orders.Decode(&o); err != nil {
		return fmt.Errorf("read what to measure: %w", err)
	}
	if o.Profile {
		runtime.MemProfileRate = profileRate
		return answers.Encode(figures{Holdings: profile(o.Scenario)})
	}
	subject, f := build(o.Scenario)
	if err := answers.Encode(f); err != nil {
		return fmt.Errorf("say what was measured: %w", err)
	}
	for {
		var edits int
		if err := orders.Decode(&edits); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read what to measure: %w", err)
		}
		if err := answers.Encode(subject.change(edits)); err != nil {
			return fmt.Errorf("say what was measured: %w", err)
		}
	}
}

// station is a process that measures a scenario.
type station struct {
	process *exec.Cmd
	in      io.WriteCloser
	answers *json.Decoder
	built   figures
	changed []figures
}

func open(o order) (*station, error) {
	helper, err := newHelper(helperMeasure)
	if err != nil {
		return nil, err
	}
	s := &station{process: helper}
	if s.in, err = helper.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start a process: %w", err)
	}
	out, err := helper.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a process: %w", err)
	}
	if err := helper.Start(); err != nil {
		return nil, fmt.Errorf("start a process: %w", err)
	}
	s.answers = json.NewDecoder(out)
	s.built, err = s.ask(o)
	return s, err
}

func (s *station) ask(what any) (figures, error) {
	var f figures
	if err := json.NewEncoder(s.in).Encode(what); err != nil {
		return f, fmt.Errorf("say what to measure: %w", err)
	}
	if err := s.answers.Decode(&f); err != nil {
		return f, fmt.Errorf("read what was measured: %w", err)
	}
	return f, nil
}

func (s *station) close() {
	_ = s.in.Close()
	_ = s.process.Wait()
}

// figures are the middle of those of all turns.
func (s *station) figures() figures {
	pick := func(of func(figures) time.Duration) time.Duration {
		var all []time.Duration
		for _, f := range s.changed {
			all = append(all, of(f))
		}
		return middle(all)
	}
	f := s.built
	f.RouteCPU = pick(func(f figures) time.Duration { return f.RouteCPU })
	f.RouteTime = pick(func(f figures) time.Duration { return f.RouteTime })
	f.EndpointCPU = pick(func(f figures) time.Duration { return f.EndpointCPU })
	f.EndpointTime = pick(func(f figures) time.Duration { return f.EndpointTime })
	f.RouteBytes = s.changed[0].RouteBytes
	return f
}

// measureInTurn measures scenarios, each in a process of its own so that what was measured before leaves no trace in its memory.
func measureInTurn(scenarios []scenario, edits int) ([]figures, error) {
	var stations []*station
	defer func() {
		for _, s := range stations {
			s.close()
		}
	}()
	for _, s := range scenarios {
		progress("build %d routes of %d Gateways", s.Routes, s.Gateways)
		opened, err := open(order{Scenario: s})
		if err != nil {
			return nil, err
		}
		stations = append(stations, opened)
	}
	for turn := range turns {
		progress("change them, turn %d", turn+1)
		for _, s := range stations {
			f, err := s.ask(max(edits/turns, 1))
			if err != nil {
				return nil, err
			}
			s.changed = append(s.changed, f)
		}
	}
	var all []figures
	for _, s := range stations {
		all = append(all, s.figures())
	}
	return all, nil
}

// profileApart says what the heap of a scenario consists of.
func profileApart(s scenario) ([]holding, error) {
	progress("see what the heap consists of")
	opened, err := open(order{Scenario: s, Profile: true})
	if err != nil {
		return nil, err
	}
	defer opened.close()
	return opened.built.Holdings, nil
}
