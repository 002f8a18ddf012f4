package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

const (
	// inotifyInstances is the file of a limit of the kernel for each user, over all clusters. Linux' default is 128.
	inotifyInstances = "/proc/sys/fs/inotify/max_user_instances"
	// leastInotifyInstances is enough for 1,600 Envoys, which hold five instances each. Beyond the limit Envoy aborts as it starts. An
	// instance that is not used costs nothing.
	leastInotifyInstances = 8192
)

// raiseInotifyInstances raises the limit if it is low, and leaves it so: clusters of other names need it too. Where it cannot be changed
// the cluster works, for fewer proxies.
func raiseInotifyInstances(file string) {
	content, err := os.ReadFile(file)
	if err != nil {
		return // a kernel without inotify
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil || limit >= leastInotifyInstances {
		return
	}
	if err := os.WriteFile(file, []byte(strconv.Itoa(leastInotifyInstances)), 0o600); err != nil {
		fmt.Printf("          fs.inotify.max_user_instances stays %d, enough for about %d proxies: %v\n", limit, limit/5, err)
		return
	}
	fmt.Printf("          fs.inotify.max_user_instances is now %d, it was %d\n", leastInotifyInstances, limit)
}
