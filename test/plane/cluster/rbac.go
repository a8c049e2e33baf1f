package cluster

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const bypassRole = "plane:bypass"

// prepare gives the holder of bypass their verb. It is asked for by name of a
// queue, whatever the API server serves, so no custom resource need exist yet.
func (c *Cluster) prepare(ctx context.Context) error {
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: bypassRole},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"holdshort.dev"}, Resources: []string{"queues"}, Verbs: []string{"bypass"}}},
	}
	if _, err := c.Client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the role of the bypass user: %w", err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: bypassRole},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: bypassRole},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: string(Bypass)}},
	}
	if _, err := c.Client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("binding the role of the bypass user: %w", err)
	}
	return nil
}

// Namespace creates a namespace in which alice and the bypass user may edit,
// and waits until they really may. One that exists already is used as it is.
func (c *Cluster) Namespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := c.Client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if ignoreExists(err) != nil {
		return fmt.Errorf("creating namespace %s: %w", name, err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "plane:edit", Namespace: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects: []rbacv1.Subject{
			{APIGroup: rbacv1.GroupName, Kind: "User", Name: string(Alice)},
			{APIGroup: rbacv1.GroupName, Kind: "User", Name: string(Bypass)},
		},
	}
	_, err = c.Client.RbacV1().RoleBindings(name).Create(ctx, binding, metav1.CreateOptions{})
	if ignoreExists(err) != nil {
		return fmt.Errorf("letting alice edit in namespace %s: %w", name, err)
	}
	return c.waitAllowed(ctx, name)
}

const rbacPollInterval = 10 * time.Millisecond

// waitAllowed waits until the authorizer has seen the binding, and the edit
// role has been put together from its parts (soon after the plane's start).
func (c *Cluster) waitAllowed(ctx context.Context, namespace string) error {
	for {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: string(Alice),
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: "create", Group: "batch", Resource: "jobs",
			},
		}}
		answer, err := c.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("asking what alice may do in namespace %s: %w", namespace, err)
		}
		if answer.Status.Allowed {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until alice may create Jobs in namespace %s: %w", namespace, ctx.Err())
		case <-time.After(rbacPollInterval):
		}
	}
}

const serviceAccountTokenSeconds = 24 * 60 * 60

// ServiceAccountConfig makes a client's configuration with a fresh token of a
// service account, which must exist.
func (c *Cluster) ServiceAccountConfig(ctx context.Context, namespace, name string) (*rest.Config, error) {
	seconds := int64(serviceAccountTokenSeconds)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := c.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("asking for a token of service account %s/%s: %w", namespace, name, err)
	}
	return c.config(answer.Status.Token), nil
}
