package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

type mountPoint struct {
	path       string
	filesystem string
}

func mountPoints() ([]mountPoint, error) {
	content, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var mounts []mountPoint
	for line := range strings.Lines(string(content)) {
		before, after, found := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if found && len(left) > 4 && len(right) > 0 {
			mounts = append(mounts, mountPoint{unescape.Replace(left[4]), right[0]})
		}
	}
	return mounts, nil
}

// unmountBelow unmounts everything below the directories, the latest mount first.
func unmountBelow(dirs ...string) error {
	mounts, err := mountPoints()
	if err != nil {
		return err
	}
	var failed error
	for _, m := range slices.Backward(mounts) {
		below := slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(m.path, dir+"/") })
		if !below {
			continue
		}
		if err := unix.Unmount(m.path, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			failed = errors.Join(failed, fmt.Errorf("unmount %s: %w", m.path, err))
		}
	}
	return failed
}
