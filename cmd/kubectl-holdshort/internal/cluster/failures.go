package cluster

import (
	"errors"
	"fmt"
	"net"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
)

func jobFailure(err error, namespace, name string) error {
	switch {
	case apierrors.IsNotFound(err):
		return failure.New("-n NAMESPACE, if it is in another one; kubectl holdshort jobs -A lists those of all namespaces",
			"there is no Job %q in namespace %q", name, namespace)
	case apierrors.IsForbidden(err):
		return failure.New(mayRead("get", "jobs.batch", namespace),
			"you may not read Job %q in namespace %q", name, namespace)
	}
	return other(err, fmt.Sprintf("reading Job %q in namespace %q", name, namespace))
}

// CheckSelector refuses what the API server would refuse too, but in its words.
func CheckSelector(selector string) error {
	if _, err := labels.Parse(selector); err != nil {
		return failure.New("-l KEY=VALUE, -l 'KEY in (A, B)' or -l KEY; several with commas", "-l %s: %w", selector, err)
	}
	return nil
}

func listFailure(err error, what, namespace string) error {
	where := fmt.Sprintf("in namespace %q", namespace)
	if namespace == "" {
		where = "in all namespaces"
	}
	if apierrors.IsForbidden(err) {
		try := "ask for the role view in that namespace"
		if namespace == "" {
			try = "one namespace with -n instead of -A"
		}
		return failure.New(try, "you may not list %s %s", what, where)
	}
	return other(err, fmt.Sprintf("listing %s %s", what, where))
}

func queueFailure(err error, name string) error {
	switch {
	case apierrors.IsForbidden(err):
		return failure.New("ask for the right to get, list and watch queues.holdshort.dev (chart value rbac.queueReaders)",
			"you may not read Queues")
	case apierrors.IsNotFound(err) && name != "" && notFoundNamed(err, name):
		return failure.New("kubectl holdshort queues", "there is no Queue %q", name)
	case apierrors.IsNotFound(err):
		return failure.New("another cluster with --context, or install the chart: its CRDs bring Queues",
			"this cluster knows no Queues: holdshort is not installed")
	}
	return other(err, "reading Queues")
}

func nodesFailure(err error) error {
	if apierrors.IsForbidden(err) {
		return failure.New("ask for the right to list nodes, or leave out what needs it", "you may not list nodes")
	}
	return other(err, "listing nodes")
}

// notFoundNamed tells a missing object from a missing resource type: the API
// server names the object only in the first case.
func notFoundNamed(err error, name string) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Name == name
}

func other(err error, doing string) error {
	var network net.Error
	switch {
	case apierrors.IsUnauthorized(err):
		return failure.New("log in again, or another user with --kubeconfig or --context",
			"%s: the API server does not know who you are", doing)
	case errors.As(err, &network):
		return failure.New("kubectl cluster-info, with the same --kubeconfig and --context", "%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func mayRead(verb, resource, namespace string) string {
	return fmt.Sprintf("kubectl auth can-i %s %s -n %s; the role view in that namespace is enough", verb, resource, namespace)
}
