package main

import (
	"runtime"
	"slices"
	"strings"
)

const (
	// profileRate is how many bytes are allocated between two samples.
	profileRate = 4096
	ours        = "github.com/gatewright/gatewright/"
)

// holding is how much of the heap a package has made, be it by what it calls: the innermost function of ours counts.
type holding struct {
	Package string
	Bytes   int64
}

// holdings are those of all packages but this one, the largest first. It is an estimate from samples.
func holdings() []holding {
	records := make([]runtime.MemProfileRecord, 0)
	for n, ok := runtime.MemProfile(nil, false); !ok; n, ok = runtime.MemProfile(records, false) {
		records = make([]runtime.MemProfileRecord, n+1000)
		if m, fits := runtime.MemProfile(records, false); fits {
			records = records[:m]
			break
		}
	}
	byPackage := map[string]int64{}
	for i := range records {
		if name := packageOf(records[i].Stack()); name != "" {
			byPackage[name] += weight(&records[i])
		}
	}
	var list []holding
	for name, bytes := range byPackage {
		list = append(list, holding{name, bytes})
	}
	slices.SortFunc(list, func(a, b holding) int { return int(b.Bytes - a.Bytes) })
	return list
}

// weight is what the objects of a record take, of which only some were sampled: an object is with a probability of its size over the rate.
func weight(r *runtime.MemProfileRecord) int64 {
	objects := r.InUseObjects()
	if objects == 0 {
		return 0
	}
	size := float64(r.InUseBytes()) / float64(objects)
	return int64(float64(r.InUseBytes()) / sampled(size))
}

func packageOf(stack []uintptr) string {
	frames := runtime.CallersFrames(stack)
	for {
		frame, more := frames.Next()
		if name, found := strings.CutPrefix(frame.Function, ours); found {
			name, _, _ = strings.Cut(name, "[")
			slash := strings.LastIndex(name, "/") + 1
			base, _, _ := strings.Cut(name[slash:], ".")
			return name[:slash] + base
		}
		if !more {
			return ""
		}
	}
}
