package cluster

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
)

// Client reads from one cluster.
type Client struct {
	jobs   batchclient.BatchV1Interface
	core   coreclient.CoreV1Interface
	queues rest.Interface
	params runtime.ParameterCodec
}

// New connects to the cluster that the configuration names; it sends nothing yet.
func New(config *rest.Config) (*Client, error) {
	jobs, err := batchclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	core, err := coreclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	queues, params, err := queueClient(config)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return &Client{jobs: jobs, core: core, queues: queues, params: params}, nil
}

func queueClient(config *rest.Config) (rest.Interface, runtime.ParameterCodec, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, nil, err
	}
	own := rest.CopyConfig(config)
	own.GroupVersion = &v1alpha1.GroupVersion
	own.APIPath = "/apis"
	own.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(own)
	return client, runtime.NewParameterCodec(scheme), err
}
