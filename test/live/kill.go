package live

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kill ends a pod's processes with SIGKILL, as a crash would, and then deletes the pod. Deleting it alone would send SIGTERM first,
// even with no grace, and a leader would hand over its lease in order. The test runs on the cluster's only node, so it sees them.
func (w *Fixture) Kill(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	killed := 0
	for _, pid := range Processes(t, string(pod.UID)) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err == nil {
			killed++
		}
	}
	if killed == 0 {
		t.Fatalf("pod %s/%s has no process that could be killed", pod.Namespace, pod.Name)
	}
	if err := w.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil && !apierrors.IsNotFound(err) {
		t.Fatalf("delete pod %s/%s: %v", pod.Namespace, pod.Name, err)
	}
}

// Processes finds the processes of a pod by their control group, which the kubelet names after its UID.
func Processes(t *testing.T, uid string) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, file := range files {
		// A process that ended in the meantime has no file any more.
		content, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(content, []byte("pod"+uid)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
