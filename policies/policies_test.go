package policies

import (
	"math"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"
)

func TestQueueAcceptsOnlyWhatItNames(t *testing.T) {
	labels := map[string]string{"team": "nlp", "tier": ""}
	cases := []struct {
		name string
		rule NamespaceRule
		want bool
	}{
		{"nothing said takes nobody", NamespaceRule{}, false},
		{"all takes everybody", NamespaceRule{All: true}, true},
		{"by name", NamespaceRule{Names: []string{"a", "research"}}, true},
		{"by another name", NamespaceRule{Names: []string{"a"}}, false},
		{"by a label", NamespaceRule{Labels: map[string]string{"team": "nlp"}}, true},
		{"every label must match", NamespaceRule{Labels: map[string]string{"team": "nlp", "zone": "a"}}, false},
		{"an empty value is not an absent label", NamespaceRule{Labels: map[string]string{"zone": ""}}, false},
		{"an empty value matches an empty value", NamespaceRule{Labels: map[string]string{"tier": ""}}, true},
		{"an empty selector takes nobody", NamespaceRule{Labels: map[string]string{}}, false},
		{"name or label is enough", NamespaceRule{Names: []string{"a"}, Labels: map[string]string{"team": "nlp"}}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := (Queue{Namespaces: c.rule}).Accepts("research", labels); got != c.want {
				t.Errorf("accepts: %v, want %v", got, c.want)
			}
		})
	}
}

func TestResourceIsLimitedByQuotaElseByTheLists(t *testing.T) {
	queue := Queue{Quota: map[string]map[string]Limit{"a": {"nvidia.com/gpu": {}}, "b": {"hugepages-2Mi": {}, "example.com/x": {}}}}
	rules := ResourceRules{Ignored: []string{"example.com/*", "vendor.com/y"}}
	own := ResourceRules{Unlimited: []string{"vendor.com/*"}}
	as := func(names ...string) ResourceRules {
		charged := ResourceRules{Ignored: []string{"free", "vendor.com/*"}, Conversions: map[string]map[string]int64{"vendor.com/y": {}}}
		for _, name := range names {
			charged.Conversions["vendor.com/y"][name] = 2
		}
		return charged
	}
	cases := []struct {
		name, resource string
		rules          ResourceRules
		want           ResourceClass
	}{
		{"what is charged as something limited is limited, though listed itself", "vendor.com/y", as("nvidia.com/gpu"), Limited},
		{"what is charged as something unknown is unknown, limited or not", "vendor.com/y", as("nvidia.com/gpu", "slices"), Unknown},
		{"what is charged as something free is free", "vendor.com/y", as("free"), Ignored},
		{"of two that are free the one that is checked counts", "vendor.com/y", as("free", "cpu"), Unlimited},
		{"any flavor's quota limits it", "nvidia.com/gpu", rules, Limited},
		{"a quota of 0 limits too, and wins over ignored", "example.com/x", rules, Limited},
		{"ignored by prefix", "example.com/z", rules, Ignored},
		{"ignored by name", "vendor.com/y", rules, Ignored},
		{"a longer name is another resource", "vendor.com/yy", rules, Unknown},
		{"cpu is unlimited unless named", "cpu", rules, Unlimited},
		{"one page size named, the others are not free", "hugepages-1Gi", rules, Unknown},
		{"own list replaces the default one", "cpu", own, Unknown},
		{"own list by prefix", "vendor.com/fpga", own, Unlimited},
		{"an empty own list makes nothing unlimited", "memory", ResourceRules{Unlimited: []string{}}, Unknown},
		{"what nobody names", "amd.com/gpu", rules, Unknown},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := (&Catalog{Resources: c.rules}).ResourceClass(queue, c.resource); got != c.want {
				t.Errorf("%s is %s, want %s", c.resource, got, c.want)
			}
		})
	}
}

func TestBackoffDoublesUpToItsMaximum(t *testing.T) {
	standard := Backoff{}
	for failed, want := range map[int64]int64{0: 60, 1: 60, 2: 120, 3: 240, 6: 1920, 7: 3600, 1000: 3600} {
		if got := standard.Delay(failed); got != want {
			t.Errorf("after %d failures %d s, want %d", failed, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64Range(0, math.MaxInt64/2)
		b := Backoff{BaseSeconds: seconds.Draw(t, "base"), MaxSeconds: seconds.Draw(t, "max")}
		failed := rapid.Int64Range(0, 200).Draw(t, "failed")
		this, next := b.Delay(failed), b.Delay(failed+1)
		if this <= 0 || next < this || next > b.Longest() {
			t.Fatalf("%+v: %d s, then %d s, at most %d", b, this, next, b.Longest())
		}
	})
}

func TestZeroesMeanTheDefaults(t *testing.T) {
	var q Queue
	if q.PlacementTimeout() != 120 || q.PodsReadyTimeout() != 1800 {
		t.Errorf("a queue that says nothing has %d s to be placed and %d s to be ready", q.PlacementTimeout(), q.PodsReadyTimeout())
	}
}

func TestOrderIsTotalWithNumbersFirstAndShorterFirst(t *testing.T) {
	number := func(n int64) OrderKey { return OrderKey{Number: n} }
	text := func(s string) OrderKey { return OrderKey{Text: s, IsText: true} }
	ascending := [][]OrderKey{
		{}, {number(math.MinInt64)}, {number(-1)}, {number(-1), number(0)}, {number(2)}, {number(2), text("")}, {text("")}, {text("a")}, {text("b"), number(1)},
	}
	for i, a := range ascending {
		for j, b := range ascending {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := CompareOrder(a, b); got != want {
				t.Errorf("comparing %v with %v: %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestAmountRefusesABillionZerosAndDoesNotWriteThemOut(t *testing.T) {
	for _, text := range []string{"1e999999999", "-4e999999999"} {
		done := make(chan error, 1)
		go func() {
			_, err := Amount("nvidia.com/gpu", resource.MustParse(text))
			done <- err
		}()
		select {
		case err := <-done:
			if err == nil {
				t.Errorf("%s was counted, want it refused", text)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s is still written out after a minute", text)
		}
	}
}

func TestAmountCountsInTheUnitOfTheResourceAndNeverWraps(t *testing.T) {
	cases := []struct {
		name, resource, quantity string
		want                     int64
		fails                    bool
	}{
		{"cpu in thousandths", "cpu", "1.5", 1500, false},
		{"a fraction of a thousandth is rounded up", "cpu", "0.1m", 1, false},
		{"memory in bytes", "memory", "1Ki", 1024, false},
		{"part of a unit is rounded up", "nvidia.com/gpu", "500m", 1, false},
		{"the most there can be", "memory", "9223372036854775807", math.MaxInt64, false},
		{"cpu that would wrap in thousandths", "cpu", "9223372036854776", 0, true},
		{"more than any integer", "memory", "100E", 0, true},
		{"less than any integer", "cpu", "-100E", 0, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Amount(c.resource, resource.MustParse(c.quantity))
			if got != c.want || (err != nil) != c.fails {
				t.Errorf("%d, %v; want %d, error %v", got, err, c.want, c.fails)
			}
		})
	}
}
