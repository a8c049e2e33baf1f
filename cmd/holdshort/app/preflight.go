package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/holdshort/holdshort/ledger"
	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
)

// reachableWithin is how long the API server may take to answer at the start.
const reachableWithin = 10 * time.Second

// serverVersion asks the API server who it is, and tells early and plainly when
// there is none to talk to.
func serverVersion(ctx context.Context, config *rest.Config) (version.Info, error) {
	var info version.Info
	short := rest.CopyConfig(config)
	short.Timeout = reachableWithin
	caller, err := rest.HTTPClientFor(short)
	if err != nil {
		return info, fmt.Errorf("making the client: %w. Try: check the certificates and tokens in the kubeconfig", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/version", http.NoBody)
	if err != nil {
		return info, fmt.Errorf("asking the API server at %s: %w. Try: check the server in the kubeconfig", config.Host, err)
	}
	response, err := caller.Do(request)
	if err != nil {
		return info, fmt.Errorf("reaching the API server at %s: %w. Try: kubectl version with the same kubeconfig", config.Host, err)
	}
	defer func() { _ = response.Body.Close() }() // read, so there is nothing to lose
	if response.StatusCode/100 != 2 {
		return info, fmt.Errorf("the API server at %s answers %s. Try: check the token in the kubeconfig", config.Host, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(&info); err != nil {
		return info, fmt.Errorf("what answers at %s is no API server: %w. Try: check the server in the kubeconfig", config.Host, err)
	}
	return info, nil
}

// podLevelLate is the minor version since which the API server fills in
// pod-level resources after LimitRanges and webhooks, not before.
const podLevelLate = 37

// podLevelEarly tells whether this server is older; one that emulates an older
// version behaves like it. Which order it has is not to be discovered otherwise.
func podLevelEarly(server version.Info) bool {
	minor := server.Minor
	if server.EmulationMinor != "" {
		minor = server.EmulationMinor
	}
	n, err := strconv.Atoi(strings.TrimRight(minor, "+"))
	return err == nil && server.Major == "1" && n < podLevelLate
}

// requireCRDs says what is missing before a watch would fail with less.
func requireCRDs(mgr manager.Manager) error {
	for _, kind := range []string{"Queue", "PolicyRollout"} {
		gvk := v1alpha1.GroupVersion.WithKind(kind)
		if _, err := mgr.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
			return fmt.Errorf("the API server does not know the kind %s (%s): %w. "+
				"Try: kubectl apply --server-side -f charts/holdshort/crds", kind, v1alpha1.GroupVersion, err)
		}
	}
	return nil
}

// requireRights asks for what the first watches will ask for, so that an identity
// without the chart's rights is told so once and not by each watch again and again.
func requireRights(ctx context.Context, c client.Client, dra ledger.DRA) error {
	lists := []client.ObjectList{&batchv1.JobList{}, &corev1.PodList{}, &corev1.NodeList{}, &v1alpha1.QueueList{}}
	if dra.Claims {
		lists = append(lists, &resourceapi.ResourceSliceList{}, &resourceapi.ResourceClaimList{})
	}
	for _, list := range lists {
		if err := c.List(ctx, list, client.Limit(1)); apierrors.IsForbidden(err) {
			return fmt.Errorf("this identity lacks the rights that the chart gives its ServiceAccount: %w. "+
				"Try: a token of that ServiceAccount (kubectl create token), or install the chart first", err)
		} else if err != nil {
			return fmt.Errorf("reading the cluster: %w", err)
		}
	}
	return nil
}

// servedDRA is what the API server has of dynamic resource allocation. Other versions
// than v1 are not looked at.
func servedDRA(mapper meta.RESTMapper) (ledger.DRA, error) {
	serves := func(kind string) (bool, error) {
		gvk := resourceapi.SchemeGroupVersion.WithKind(kind)
		_, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("asking the API server for the kind %s (%s): %w", kind, gvk.GroupVersion(), err)
		}
		return true, nil
	}
	claims, err := serves("ResourceClaim")
	if err != nil {
		return ledger.DRA{}, err
	}
	rules, err := serves("DeviceTaintRule")
	return ledger.DRA{Claims: claims, Rules: rules}, err
}

// lookAround finds out what the server has of dynamic resource allocation, and whether we
// may read it and all the rest.
func lookAround(ctx context.Context, mapper meta.RESTMapper, c client.Client, server version.Info) (ledger.DRA, error) {
	dra, err := servedDRA(mapper)
	if err != nil {
		return dra, err
	}
	dra.Implied = !podLevelEarly(server) // of the same version
	return dra, requireRights(ctx, c, dra)
}

// portHint says what to do about a port that somebody else has.
func portHint(err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("running: %w", err)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w. Try: another port with --webhook-port, --health-address or --metrics-address", err)
	}
	return err
}
