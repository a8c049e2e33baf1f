package command

import (
	"testing"
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
