package live

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Metrics is what a controller tells of itself: a number for each series, which is a name with its labels, as they are written.
type Metrics map[string]float64

// ReadMetrics asks a controller.
func ReadMetrics(ctx context.Context, controller *corev1.Pod) (Metrics, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+Host(controller.Status.PodIP)+":8080/metrics", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask %s for metrics: %w", controller.Name, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask %s for metrics: %w", controller.Name, err)
	}
	defer func() { _ = response.Body.Close() }()
	values := Metrics{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		line := lines.Text()
		end := strings.LastIndexByte(line, ' ')
		if end < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		value, err := strconv.ParseFloat(line[end+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("metrics of %s: %q: %w", controller.Name, line, err)
		}
		values[line[:end]] = value
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("metrics of %s: %w", controller.Name, err)
	}
	return values, nil
}

// By is the value of a metric for each value of one of its labels, added up over the others.
func (m Metrics) By(name, label string) map[string]float64 {
	values := map[string]float64{}
	for series, value := range m {
		labels, ok := strings.CutPrefix(series, name+"{")
		if !ok {
			continue
		}
		_, rest, ok := strings.Cut(","+labels, ","+label+`="`)
		if !ok {
			continue
		}
		of, _, _ := strings.Cut(rest, `"`)
		values[of] += value
	}
	return values
}
