package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/client-go/kubernetes"
)

// requests that the API server has answered, by what was asked and how: "PATCH
// jobs", "PATCH jobs/status", "PATCH jobs 409".
type requests map[string]int

// answered asks the API server what it has answered. It does not say whom, but
// nobody but the manager patches Jobs, writes Queues and records events here.
func answered(ctx context.Context, client kubernetes.Interface) (requests, error) {
	text, err := client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's metrics: %w", err)
	}
	return readRequests(string(text))
}

func readRequests(metrics string) (requests, error) {
	label := regexp.MustCompile(`([a-z_]+)="([^"]*)"`)
	found := requests{}
	for line := range strings.Lines(metrics) {
		series, has := strings.CutPrefix(line, "apiserver_request_total{")
		if !has {
			continue
		}
		labels, value, _ := strings.Cut(strings.TrimSpace(series), "} ")
		is := map[string]string{}
		for _, l := range label.FindAllStringSubmatch(labels, -1) {
			is[l[1]] = l[2]
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("reading %q: %w", line, err)
		}
		what := is["verb"] + " " + is["resource"]
		if sub := is["subresource"]; sub != "" {
			what += "/" + sub
		}
		if code := is["code"]; !strings.HasPrefix(code, "2") {
			what += " " + code
		}
		found[what] += int(n)
	}
	return found, nil
}

// ours are the manager's writes since before, by what was written.
func (r requests) ours(before requests) requests {
	writes := requests{}
	for what, n := range r {
		verb, resource, _ := strings.Cut(what, " ")
		resource, _, _ = strings.Cut(resource, " ")
		switch {
		case verb != "POST" && verb != "PUT" && verb != "PATCH" && verb != "DELETE":
			continue
		case resource == "jobs" && verb != "POST", resource == "events", strings.HasPrefix(resource, "queues"):
			if n -= before[what]; n > 0 {
				writes[what] = n
			}
		}
	}
	return writes
}

func (r requests) total() int {
	sum := 0
	for _, n := range r {
		sum += n
	}
	return sum
}
