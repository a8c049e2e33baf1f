package cluster

import (
	"context"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/holdshort/holdshort/ledger/api/v1alpha1"
	"github.com/holdshort/holdshort/policies"
)

// AutoQueue as a label leaves the choice to the policy, as no name does.
const AutoQueue = "auto"

// pageSize keeps one answer of the API server small on big clusters.
const pageSize = 500

// Job reads one Job.
func (c *Client) Job(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	job, err := c.jobs.Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, jobFailure(err, namespace, name)
	}
	return job, nil
}

// Jobs lists the labelled Jobs of a namespace, of all if it is empty, that the
// selector matches too.
func (c *Client) Jobs(ctx context.Context, namespace, selector string) (*batchv1.JobList, error) {
	all := &batchv1.JobList{}
	options := metav1.ListOptions{LabelSelector: labelled(selector), Limit: pageSize}
	for {
		page, err := c.jobs.Jobs(namespace).List(ctx, options)
		if err != nil {
			return nil, listFailure(err, "Jobs", namespace)
		}
		all.Items = append(all.Items, page.Items...)
		all.ListMeta = page.ListMeta
		if options.Continue = page.Continue; options.Continue == "" {
			return all, nil
		}
	}
}

// QueueJobs lists the Jobs that may be of a queue, in one namespace or all: those
// that name it, and those that leave the choice to the policy.
func (c *Client) QueueJobs(ctx context.Context, namespace, queue string) (*batchv1.JobList, error) {
	return c.Jobs(ctx, namespace, policies.LabelQueue+" in ("+queue+","+AutoQueue+",)")
}

// WatchJob watches one Job, from a resource version on.
func (c *Client) WatchJob(ctx context.Context, namespace, name, version string) (watch.Interface, error) {
	w, err := c.jobs.Jobs(namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String(), ResourceVersion: version, AllowWatchBookmarks: true,
	})
	if err != nil {
		return nil, listFailure(err, "Jobs", namespace)
	}
	return w, nil
}

// WatchJobs watches what Jobs lists, from a resource version on.
func (c *Client) WatchJobs(ctx context.Context, namespace, selector, version string) (watch.Interface, error) {
	w, err := c.jobs.Jobs(namespace).Watch(ctx, metav1.ListOptions{
		LabelSelector: labelled(selector), ResourceVersion: version, AllowWatchBookmarks: true,
	})
	if err != nil {
		return nil, listFailure(err, "Jobs", namespace)
	}
	return w, nil
}

func labelled(selector string) string {
	if selector == "" {
		return policies.LabelQueue
	}
	return policies.LabelQueue + "," + selector
}

// Queue reads one Queue.
func (c *Client) Queue(ctx context.Context, name string) (*v1alpha1.Queue, error) {
	queue := &v1alpha1.Queue{}
	if err := c.queues.Get().Resource("queues").Name(name).Do(ctx).Into(queue); err != nil {
		return nil, queueFailure(err, name)
	}
	return queue, nil
}

// Queues lists the Queues that the selector matches.
func (c *Client) Queues(ctx context.Context, selector string) (*v1alpha1.QueueList, error) {
	queues := &v1alpha1.QueueList{}
	options := metav1.ListOptions{LabelSelector: selector}
	err := c.queues.Get().Resource("queues").VersionedParams(&options, c.params).Do(ctx).Into(queues)
	if err != nil {
		return nil, queueFailure(err, "")
	}
	return queues, nil
}

// WatchQueues watches what Queues lists, from a resource version on.
func (c *Client) WatchQueues(ctx context.Context, selector, version string) (watch.Interface, error) {
	options := metav1.ListOptions{
		LabelSelector: selector, ResourceVersion: version, AllowWatchBookmarks: true, Watch: true,
	}
	w, err := c.queues.Get().Resource("queues").VersionedParams(&options, c.params).Watch(ctx)
	if err != nil {
		return nil, queueFailure(err, "")
	}
	return w, nil
}

// Events lists the events about one object. They are read through the core
// API, which serves those of events.k8s.io too and which the view role grants.
func (c *Client) Events(ctx context.Context, namespace, uid string) ([]corev1.Event, error) {
	list, err := c.core.Events(namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("involvedObject.uid", uid).String(), Limit: pageSize,
	})
	if err != nil {
		return nil, listFailure(err, "events", namespace)
	}
	return list.Items, nil
}

// Pods lists the pods of Jobs, by the UIDs of these.
func (c *Client) Pods(ctx context.Context, namespace string, jobs ...string) ([]corev1.Pod, error) {
	return c.pods(ctx, namespace, batchv1.ControllerUidLabel+" in ("+strings.Join(jobs, ",")+")")
}

// QueuePods lists the pods of one queue in a namespace or all, those too whose
// Job is gone.
func (c *Client) QueuePods(ctx context.Context, namespace, queue string) ([]corev1.Pod, error) {
	return c.pods(ctx, namespace, policies.LabelQueue+"="+queue)
}

func (c *Client) pods(ctx context.Context, namespace, selector string) ([]corev1.Pod, error) {
	all := []corev1.Pod{} // none is another answer than not knowing
	options := metav1.ListOptions{LabelSelector: selector, Limit: pageSize}
	for {
		page, err := c.core.Pods(namespace).List(ctx, options)
		if err != nil {
			return nil, listFailure(err, "pods", namespace)
		}
		all = append(all, page.Items...)
		if options.Continue = page.Continue; options.Continue == "" {
			return all, nil
		}
	}
}

// Nodes lists the machines of the cluster.
func (c *Client) Nodes(ctx context.Context) ([]corev1.Node, error) {
	var all []corev1.Node
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := c.core.Nodes().List(ctx, options)
		if err != nil {
			return nil, nodesFailure(err)
		}
		all = append(all, page.Items...)
		if options.Continue = page.Continue; options.Continue == "" {
			return all, nil
		}
	}
}
