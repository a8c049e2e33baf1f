package main

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdshort/holdshort/test/witness"
)

func TestALoadIsThatOfItsSeedAndEveryGangCanRun(t *testing.T) {
	l := draw(7, 120)
	if !reflect.DeepEqual(l, draw(7, 120)) {
		t.Error("the same seed drew another load")
	}
	if reflect.DeepEqual(l, draw(8, 120)) {
		t.Error("another seed drew the same load")
	}
	var held, free int64
	for _, s := range l.strangers {
		held += s.gpus
	}
	shapes := map[[2]int64]bool{}
	for _, g := range l.gangs {
		shapes[[2]int64{g.pods, g.gpus}] = true
		if !l.holds(g) {
			t.Errorf("%d pods with %d GPUs can never run", g.pods, g.gpus)
		}
	}
	for node, n := range l.free {
		free += n
		if n < 0 {
			t.Errorf("strangers hold more than %s has", node)
		}
	}
	if held != gpus/3 || held+free != gpus || len(l.gangs) != 120 || len(shapes) < 10 {
		t.Errorf("%d GPUs are held, %d free; %d gangs of %d shapes", held, free, len(l.gangs), len(shapes))
	}
	if l.least() <= 30*time.Second || l.least() > 3*time.Minute {
		t.Errorf("nobody can need less than %s, which is too short to tell or too long to wait for", l.least())
	}
}

func TestBrokenPromisesAreSaid(t *testing.T) {
	all := func(wall time.Duration, stuck ...string) result {
		return result{name: "x", jobs: 3, wall: wall, counts: witness.Counts{Completed: 3, Stuck: stuck}}
	}
	late := all(time.Minute)
	late.counts.Completed = 2
	cases := []struct {
		name         string
		ours, theirs result
		want         string
	}{
		{"as good", all(time.Minute), all(time.Minute, "a", "b"), ""},
		{"a little slower", all(61 * time.Second), all(time.Minute), ""},
		{"slower", all(70 * time.Second), all(time.Minute), "we took 70.0 s, and x 60.0 s"},
		{"theirs did not end", all(70 * time.Second), late, ""},
		{"ours did not end", late, all(time.Minute), "2 of our 3 Jobs have completed"},
		{"a pod was stuck", all(time.Minute, "ours/p"), all(time.Minute), "1 pods of ours could not be placed for more than 5s: ours/p"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := judge(c.ours, []result{c.theirs})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("judged %v; want %q", err, c.want)
			}
		})
	}
}

const chart = `apiVersion: apps/v1
kind: Deployment
metadata: {name: kueue-controller-manager}
---
# nothing
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kueue-manager-config}
data:
  controller_manager_config.yaml: |
    kind: Configuration
    webhook: {port: 9443}
    clientConnection: {qps: 300}
---
kind: ValidatingWebhookConfiguration
apiVersion: admissionregistration.k8s.io/v1
metadata: {name: v}
webhooks:
- clientConfig: {service: {name: kueue-webhook-service, path: /v}}
- clientConfig: {service: {name: other, path: /v}}
---
kind: CustomResourceDefinition
apiVersion: apiextensions.k8s.io/v1
metadata: {name: c}
spec: {conversion: {webhook: {clientConfig: {service: {name: kueue-webhook-service}}}}}
`

func TestTheChartComesToThisMachine(t *testing.T) {
	k := &kueue{webhook: 1234, health: 5678, certs: "/certs"}
	got, err := k.adapt(chart)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(got, "port: 1234"); n != 2 {
		t.Errorf("%d webhooks were led here, want 2:\n%s", n, got)
	}
	if strings.Contains(got, "Deployment") || !strings.Contains(got, "externalName: localhost") {
		t.Errorf("the process is to run here, and to be found here:\n%s", got)
	}
	config, err := k.configuration(variants(true)[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"qps: 300", "port: 1234", "blockAdmission: true", "healthProbeBindAddress: 127.0.0.1:5678"} {
		if !strings.Contains(string(config), want) {
			t.Errorf("the configuration lacks %q:\n%s", want, config)
		}
	}
	if config, err = k.configuration(variants(true)[1]); err != nil || strings.Contains(string(config), "waitForPodsReady") {
		t.Errorf("quota alone waits for pods, too: %v\n%s", err, config)
	}
}
