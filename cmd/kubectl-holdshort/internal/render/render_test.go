package render

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
	"github.com/holdshort/holdshort/ledger/resource"
)

func TestAmounts(t *testing.T) {
	tests := map[string]struct {
		list resource.List
		want string
	}{
		"devices come before cpu and memory":        {resource.List{"cpu": 3000, "memory": 4 << 30, "nvidia.com/gpu": 4}, "4 nvidia.com/gpu, 3 cpu, 4Gi memory"},
		"parts of a core are thousandths":           {resource.List{"cpu": 2500}, "2500m cpu"},
		"pod slots go without saying":               {resource.List{"cpu": 1000, "pods": 4}, "1 cpu"},
		"a list of nothing is a dash":               {resource.List{"pods": 1, "cpu": 0}, "-"},
		"devices are in the order of their names":   {resource.List{"z.example/x": 1, "a.example/x": 2}, "2 a.example/x, 1 z.example/x"},
		"what cannot be counted is not a number":    {resource.List{"cpu": 1<<63 - 1}, "more than can be counted cpu"},
		"an amount that is not a whole unit is not": {resource.List{"memory": 1536 << 20}, "1536Mi memory"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := amounts(test.list); got != test.want {
				t.Errorf("amounts(%v) = %q, want %q", test.list, got, test.want)
			}
		})
	}
}

func TestAge(t *testing.T) {
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		from time.Time
		want string
	}{
		"a moment ago is in seconds":                 {now.Add(-14 * time.Second), "14s"},
		"what the API server dates later is now":     {now.Add(time.Minute), "0s"},
		"a moment that is not known is not invented": {time.Time{}, "<unknown>"},
		"days are days":                              {now.Add(-240 * time.Hour), "10d"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := age(now, test.from); got != test.want {
				t.Errorf("age = %q, want %q", got, test.want)
			}
		})
	}
}

func TestShort(t *testing.T) {
	tests := map[string]struct{ digest, want string }{
		"the algorithm is left out":       {"sha256:3f2a91c0d4e5f6a7", "3f2a91c0d4e5"},
		"a short digest is shown whole":   {"3f2a", "3f2a"},
		"a missing digest stays missing":  {"", ""},
		"a digest without algorithm, too": {"3f2a91c0d4e5f6a7", "3f2a91c0d4e5"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := short(test.digest); got != test.want {
				t.Errorf("short(%q) = %q, want %q", test.digest, got, test.want)
			}
		})
	}
}

func TestColorMarksTheStateOnly(t *testing.T) {
	x := report.JobExplanation{Job: report.Job{Name: "train-b", State: report.StateWaiting}}
	var plain, colored bytes.Buffer
	if err := (Text{}).Explain(&plain, x); err != nil {
		t.Fatal(err)
	}
	if err := (Text{Color: true}).Explain(&colored, x); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain.String(), "\x1b") {
		t.Errorf("escape sequences without colour: %q", plain.String())
	}
	want := strings.Replace(plain.String(), "WAITING", "\x1b[1;33mWAITING\x1b[0m", 1)
	if diff := cmp.Diff(want, colored.String()); diff != "" {
		t.Errorf("colour changed more than the state (-want +got):\n%s", diff)
	}
}

func TestCheckFormat(t *testing.T) {
	for _, format := range []string{"", "wide", "json", "yaml", "name", "jsonpath={.kind}"} {
		if err := CheckFormat(format); err != nil {
			t.Errorf("-o %s: %v", format, err)
		}
	}
	for _, format := range []string{"xml", "JSON", "jsonpath"} {
		if err := CheckFormat(format); err == nil {
			t.Errorf("-o %s is taken", format)
		}
	}
}

func TestAWatchHasOneHeaderAndPrintsNews(t *testing.T) {
	var out bytes.Buffer
	table := Table{Headers: true, Printed: &Printed{}, Namespace: "team"}
	row := report.Queue{Name: "research", Pending: 1, Head: &report.QueueHead{Namespace: "team", Name: "a", Code: "WaitingForQuota"}}
	elsewhere := row
	elsewhere.Head = &report.QueueHead{Namespace: "other", Name: "a", Code: "WaitingForQuota"}
	for i, rows := range [][]report.Queue{nil, {row}, {row}, {elsewhere}} {
		table.Now = time.Date(2026, 3, 2, 10, i, 0, 0, time.UTC) // older, and no news for that
		if err := table.Queues(&out, rows); err != nil {
			t.Fatal(err)
		}
	}
	var lines [][]string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.Fields(line))
	}
	want := [][]string{
		{"NAME", "PENDING", "ADMITTED", "USED", "LOAN", "LEFT", "HEAD", "WHY", "AGE"},
		{"research", "1", "0", "-", "-", "-", "a", "WaitingForQuota", "<unknown>"},
		{"research", "1", "0", "-", "-", "-", "other/a", "WaitingForQuota", "<unknown>"},
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}

func TestWhyAQueueStandsStill(t *testing.T) {
	head := &report.QueueHead{Code: "WaitingForQuota"}
	reasons := map[string]int64{"NeverFits": 5, "HeldByOwner": 1}
	tests := map[string]struct {
		queue report.Queue
		want  string
	}{
		"what its head waits for":                    {report.Queue{Head: head, Reasons: reasons}, "WaitingForQuota"},
		"what most are kept back by, if none is one": {report.Queue{Reasons: reasons}, "NeverFits (5)"},
		"its operator, before all":                   {report.Queue{Head: head, Reasons: reasons, Held: true}, "QueueHeld"},
		"nothing":                                    {report.Queue{}, "-"},
		"it is gone":                                 {report.Queue{Held: true, Deleted: true}, "deleted"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := whyOf(test.queue); got != test.want {
				t.Errorf("why %q, want %q", got, test.want)
			}
		})
	}
}

func TestManyHoldersAreSummedUp(t *testing.T) {
	x := report.JobExplanation{HeldElsewhere: resource.List{"gpu": 7}}
	for range holdersMax + 2 {
		x.Holding = append(x.Holding, report.Holder{Namespace: "n", Name: "j", State: report.StateUncharged, Reserved: resource.List{"gpu": 3}})
	}
	got := Text{}.holding(x)[0].text
	if want := " · 6 gpu by 2 more Jobs · 7 gpu by Jobs that you may not read"; !strings.HasSuffix(got, want) {
		t.Errorf("%q does not end in %q", got, want)
	}
	if named := strings.Count(got, "n/j 3 gpu (not admitted)"); named != holdersMax {
		t.Errorf("%d are named, want %d: %s", named, holdersMax, got)
	}
}
