package main

import (
	"math"
	"runtime"
	"runtime/metrics"
	"syscall"
	"time"

	"github.com/gatewright/gatewright/internal/store"
)

// figures is what one scenario costs.
type figures struct {
	scenario
	// Objects is the heap of the stored objects alone, and Heap what the control plane needs beside them; both in bytes.
	Objects, Heap uint64
	// Cold is how long it takes to compute everything from nothing.
	Cold, ColdCPU time.Duration
	// RouteCPU, RouteTime and RouteBytes are what one edited route costs: processor time with its share of the garbage collection, time
	// until the cache has it, and memory allocated.
	RouteCPU, RouteTime time.Duration
	RouteBytes          uint64
	// EndpointCPU and EndpointTime are the same for one changed slice.
	EndpointCPU, EndpointTime time.Duration
	// Holdings is who made what is in the heap.
	Holdings []holding
}

// subject is a scenario that changes can be made to.
type subject struct {
	scenario
	plane   *plane
	objects []store.Change
	// version is that of the last change.
	version int
}

// build builds a scenario and says what that takes.
func build(s scenario) (*subject, figures) {
	f := figures{scenario: s}
	x := &subject{scenario: s}
	before := heap()
	s.each(func(c store.Change) { x.objects = append(x.objects, c) })
	after := heap()
	f.Objects = after - before

	x.plane = newPlane(s, 0)
	for _, c := range x.objects {
		x.plane.pipeline.Put(c)
	}
	cpu, start := processorTime(), time.Now()
	x.plane.start()
	f.Cold, f.ColdCPU = time.Since(start), processorTime()-cpu
	f.Heap = heap() - after
	x.plane.run()
	return x, f
}

// change makes that many changes of each kind and says what one costs.
func (x *subject) change(edits int) figures {
	var f figures
	f.RouteCPU, f.RouteTime, f.RouteBytes = each(edits, func() {
		x.version++
		edited := x.version * 7919 % x.Routes
		if x.Wide {
			edited = 0
		}
		x.plane.pipeline.Put(x.route(edited, x.version))
		<-x.plane.applied
	})
	f.EndpointCPU, f.EndpointTime, _ = each(edits, func() {
		x.version++
		x.plane.pipeline.Put(x.slice(x.version*7919%x.Services, x.version))
		<-x.plane.endpoints
	})
	return f
}

// profile builds a scenario and says who made what is in the heap then.
func profile(s scenario) []holding {
	p := newPlane(s, 0)
	s.each(p.pipeline.Put)
	p.start()
	heap()
	found := holdings()
	runtime.KeepAlive(p)
	return found
}

// each does something n times and returns what one time costs. Whether the garbage is collected during it is chance, and the more there
// is the rarer it is; so its part is what a collection takes, times the part of a collection's worth that is allocated.
func each(n int, do func()) (cpu, wall time.Duration, allocated uint64) {
	for range n / 10 {
		do()
	}
	live := heap()
	pause := processorTime()
	runtime.GC()
	collection := processorTime() - pause
	bytes, used, start := allocations(), processorTime(), time.Now()
	for range n {
		do()
	}
	wall = time.Since(start) / time.Duration(n)
	used = processorTime() - used
	allocated = (allocations() - bytes) / uint64(n) //nolint:gosec // positive
	cpu = used/time.Duration(n) + time.Duration(float64(collection)*float64(allocated)/float64(live))
	return cpu, wall, allocated
}

// heap is what is in use after everything else was collected.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func allocations() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// sampled is the probability that an object of that size is in a profile.
func sampled(size float64) float64 { return 1 - math.Exp(-size/profileRate) }
