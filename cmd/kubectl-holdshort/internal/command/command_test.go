package command

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJobName(t *testing.T) {
	tests := map[string]struct {
		argument, want string
		refused        bool
	}{
		"a bare name is a Job's":                {"train-b", "train-b", false},
		"as kubectl get jobs -o name writes it": {"job.batch/train-b", "train-b", false},
		"the plural is as good":                 {"Jobs/train-b", "train-b", false},
		"other kinds are refused":               {"pod/train-b", "", true},
		"a kind without a name is refused":      {"job/", "", true},
		"a path is not a name":                  {"job/a/b", "", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := jobName(test.argument)
			if got != test.want || (err != nil) != test.refused {
				t.Errorf("jobName(%q) = %q, %v; want %q, refused %t", test.argument, got, err, test.want, test.refused)
			}
		})
	}
}

func TestJobNames(t *testing.T) {
	tests := map[string]struct {
		arguments, want []string
		refused         bool
	}{
		"one":                                    {[]string{"train-b"}, []string{"train-b"}, false},
		"several, with kind or without":          {[]string{"train-b", "job/train-a"}, []string{"train-b", "train-a"}, false},
		"the kind first, as for kubectl get":     {[]string{"jobs", "train-b", "train-a"}, []string{"train-b", "train-a"}, false},
		"a Job that is called job":               {[]string{"job"}, []string{"job"}, false},
		"the same twice is asked about once":     {[]string{"job/a", "a"}, []string{"a"}, false},
		"nothing is refused":                     {nil, nil, true},
		"another kind among them is refused too": {[]string{"a", "pod/b"}, nil, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := jobNames(test.arguments)
			if diff := cmp.Diff(test.want, got); diff != "" || (err != nil) != test.refused {
				t.Errorf("refused: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}
