package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/holdshort/holdshort/policies"
)

// testCase is one case file.
type testCase struct {
	Name        string               `json:"name"`
	Tags        []string             `json:"tags"`
	Flavors     []caseFlavor         `json:"flavors"`
	Cohorts     []caseCohort         `json:"cohorts"`
	Queues      []caseQueue          `json:"queues"`
	FairSharing policies.FairSharing `json:"fairSharing"`
	Held        []caseJob            `json:"held"`
	Waiting     []caseJob            `json:"waiting"`
	Want        *want                `json:"want"`
}

type caseFlavor struct {
	Name        string                `json:"name"`
	NodeLabels  map[string]string     `json:"nodeLabels"`
	Taints      []policies.Taint      `json:"taints"`
	Tolerations []policies.Toleration `json:"tolerations"`
}

type caseCohort struct {
	Name   string           `json:"name"`
	Parent string           `json:"parent"`
	Weight *policies.Weight `json:"weight"`
	Quotas []struct {
		Flavor   string `json:"flavor"`
		Resource string `json:"resource"`
		caseQuota
	} `json:"quotas"`
}

type caseQuota struct {
	Nominal        string  `json:"nominal"`
	BorrowingLimit *string `json:"borrowingLimit"`
	LendingLimit   *string `json:"lendingLimit"`
}

type caseQueue struct {
	Name     string            `json:"name"`
	Cohort   string            `json:"cohort"`
	Strategy policies.Strategy `json:"strategy"`
	Weight   *policies.Weight  `json:"weight"`
	Groups   []struct {
		Resources []string `json:"resources"`
		Flavors   []struct {
			Name   string               `json:"name"`
			Quotas map[string]caseQuota `json:"quotas"`
		} `json:"flavors"`
	} `json:"groups"`
	Fungibility policies.Fungibility `json:"fungibility"`
	Preemption  policies.Preemption  `json:"preemption"`
}

// covers tells whether the queue has a quota of a resource.
func (q caseQueue) covers(resource string) bool {
	for _, g := range q.Groups {
		for _, name := range g.Resources {
			if name == resource {
				return true
			}
		}
	}
	return false
}

type caseJob struct {
	Name       string    `json:"name"`
	UID        string    `json:"uid"`
	Queue      string    `json:"queue"`
	Priority   int64     `json:"priority"`
	Created    time.Time `json:"created"`
	ReservedAt time.Time `json:"reservedAt"` // of one that is held
	PodSets    []struct {
		Name         string                `json:"name"`
		Count        int64                 `json:"count"`
		MinCount     int64                 `json:"minCount"`
		Requests     map[string]string     `json:"requests"`
		Tolerations  []policies.Toleration `json:"tolerations"`
		NodeSelector map[string]string     `json:"nodeSelector"`
		Flavors      map[string]string     `json:"flavors"` // of one that is held
	} `json:"podSets"`
}

type want struct {
	FirstRound struct {
		Admitted  []wantJob   `json:"admitted"`
		Preempted []wantState `json:"preempted"`
	} `json:"firstRound"`
	Settled struct {
		Admitted  []wantJob   `json:"admitted"`
		Preempted []string    `json:"preempted"`
		Waiting   []wantState `json:"waiting"`
	} `json:"settled"`
	Rounds int `json:"rounds"`
}

type wantJob struct {
	Name    string       `json:"name"`
	PodSets []wantPodSet `json:"podSets"`
}

type wantPodSet struct {
	Name    string            `json:"name"`
	Count   int64             `json:"count"`
	Flavors map[string]string `json:"flavors"`
}

type wantState struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// readFile reads a case, or the quota trees of a file that is a list of them.
func readFile(name string, text []byte) ([]testCase, []arithmetic, error) {
	if text = bytes.TrimSpace(text); bytes.HasPrefix(text, []byte("[")) {
		var trees []arithmetic
		err := strict(name, text, &trees)
		return nil, trees, err
	}
	var c testCase
	if err := strict(name, text, &c); err != nil {
		return nil, nil, err
	}
	return []testCase{c}, nil, nil
}

func strict(name string, text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil {
		if _, more := decoder.Token(); !errors.Is(more, io.EOF) {
			err = fmt.Errorf("something follows after it, at byte %d", decoder.InputOffset())
		}
	}
	if err != nil {
		return fmt.Errorf("%s: read as a case or a list of quota trees: %w. Try: a file of the schema that the conformance cases have", name, err)
	}
	return nil
}
