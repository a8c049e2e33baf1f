package rollout

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestTheMetricShowsTheDigestThatIsInForce(t *testing.T) {
	r := rolloutOn(cluster(t), &memory{files: map[string][]byte{"data.yaml": []byte(goodData)}})
	registry := prometheus.NewRegistry()
	if err := registry.Register(NewRevisionInfo(r.Engine.Active)); err != nil {
		t.Fatal(err)
	}
	shown := func() []string {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var digests []string
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				digests = append(digests, metric.GetLabel()[0].GetValue())
			}
		}
		return digests
	}
	if got := shown(); len(got) != 0 {
		t.Errorf("before any policy it shows %q", got)
	}
	r.look(t.Context())
	if got, want := shown(), r.Engine.Active().Digest(); len(got) != 1 || got[0] != want {
		t.Errorf("it shows %q, want %s", got, want)
	}
}
