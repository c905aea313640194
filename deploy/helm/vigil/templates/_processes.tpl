{{/*
The processes of Vigil: one that leads and its standbys without NATS, or readers that only watch and writers that only
write with NATS between them.
Every other template is written for any process of this table.
*/}}

{{- define "vigil.name" -}}
{{- default "vigil" .Values.nameOverride -}}
{{- end -}}

{{- define "vigil.labels" -}}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{/*
By the name of the process: how many there are, its arguments, whether it serves the console, its rights, and the Lease
by which they elect a leader. Nothing is written in shadow mode, so there is nothing to lead.
*/}}
{{- define "vigil.processes" -}}
{{- $mode := .Values.mode -}}
{{- if .Values.fleet.enabled -}}
{{- if eq $mode "beside" }}{{ fail "mode beside runs as one process: set fleet.enabled to false" }}{{ end -}}
{{- $url := .Values.fleet.nats.url -}}
reader:
  replicas: {{ .Values.fleet.readers }}
  arguments:
    - --services=observer,{{ if ne $mode "taint-eviction-only" }}node,zone,{{ end }}taint-manager
    - --nats={{ $url }}
    - --nats-nkey=/etc/vigil/nats/reader.nk
  servesConsole: false
  rules:
    - { apiGroups: [""], resources: [nodes, pods], verbs: [list, watch] }
    - { apiGroups: [""], resources: [events], verbs: [list] }
    {{- include "vigil.clusterRule" . | nindent 4 }}
  leaseVerbs: [get, list, watch]
writer:
  replicas: {{ .Values.fleet.writers }}
  arguments:
    - --services={{ if ne $mode "taint-eviction-only" }}node-writer,{{ end }}pod-writer,ledger,policy
    - --nats={{ $url }}
    - --nats-nkey=/etc/vigil/nats/writer.nk
    - --nats-history-nkey=/etc/vigil/nats/history.nk
  servesConsole: true
  rules:
    {{- include "vigil.writerRules" . | nindent 4 }}
  leaseVerbs: [get]
{{- else -}}
{{ if eq $mode "beside" }}beside{{ else }}controller{{ end }}:
  {{- if eq $mode "shadow" }}
  replicas: 1
  arguments: []
  {{- else }}
  replicas: {{ .Values.process.replicas }}
  electionLease: {{ include "vigil.name" . }}
  arguments:
    {{- if eq $mode "beside" }}
    - --upstream=beside
    {{- if not (hasKey .Values.settings "node-monitor-grace-period") }}
    - --node-monitor-grace-period=25s
    {{- end }}
    {{- else if eq $mode "taint-eviction-only" }}
    - --services=observer,taint-manager,pod-writer,ledger,policy
    {{- end }}
    - --leader-elect
    - --leader-elect-resource-name={{ include "vigil.name" . }}
    - --leader-elect-resource-namespace={{ .Release.Namespace }}
  {{- end }}
  servesConsole: true
  rules:
    {{- include "vigil.controllerRules" . | nindent 4 }}
  leaseVerbs: [get, list, watch]
{{- end }}
{{- end -}}

{{/* Which cluster this is, by the uid of kube-system. */}}
{{- define "vigil.clusterRule" -}}
- { apiGroups: [""], resources: [namespaces], resourceNames: [kube-system], verbs: [get] }
{{- end -}}

{{/* When nodes were and are frozen, and, where Vigil taints, the memory of limits. */}}
{{- define "vigil.freezeRule" -}}
{{- $verbs := list "get" "list" "watch" -}}
{{- if not (has .Values.mode (list "shadow" "beside")) }}{{ $verbs = append $verbs "patch" }}{{ end -}}
- { apiGroups: [""], resources: [configmaps], resourceNames: [vigil-freeze], verbs: {{ toJson $verbs }} }
{{- end -}}

{{/* Where Vigil evicts: the Lease of the rates and limits of node policies, and the one that says until when it heard nodes. */}}
{{- define "vigil.limitsRule" -}}
{{- if not (has .Values.mode (list "shadow" "beside")) -}}
- { apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [vigil-limits], verbs: [get, list, watch, update] }
- { apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [vigil-heartbeats], verbs: [patch] }
{{- end -}}
{{- end -}}

{{/* Node policies, and, where anything may be written, what Vigil says about each. */}}
{{- define "vigil.policyRules" -}}
- { apiGroups: [vigil.io], resources: [nodepolicies], verbs: [list, watch] }
{{- if ne .Values.mode "shadow" }}
- { apiGroups: [vigil.io], resources: [nodepolicies/status], verbs: [patch] }
{{- end }}
{{- end -}}

{{/* The live reads before a write, the writes, and Events. */}}
{{- define "vigil.writerRules" -}}
{{- if eq .Values.mode "shadow" -}}
- { apiGroups: [""], resources: [nodes, pods], verbs: [get] }
{{- else if eq .Values.mode "taint-eviction-only" -}}
- { apiGroups: [""], resources: [nodes], verbs: [get] }
- { apiGroups: [""], resources: [pods], verbs: [get, delete] }
- { apiGroups: [""], resources: [pods/eviction], verbs: [create] }
- { apiGroups: [""], resources: [pods/status], verbs: [patch] }
- { apiGroups: [""], resources: [events], verbs: [create, patch] }
{{- else -}}
- { apiGroups: [""], resources: [nodes], verbs: [get, patch] }
- { apiGroups: [""], resources: [nodes/status, pods/status], verbs: [patch] }
- { apiGroups: [""], resources: [pods], verbs: [get, delete] }
- { apiGroups: [""], resources: [pods/eviction], verbs: [create] }
- { apiGroups: [""], resources: [events], verbs: [create, patch] }
{{- end }}
{{ include "vigil.freezeRule" . }}
{{ include "vigil.limitsRule" . }}
{{ include "vigil.policyRules" . }}
{{ include "vigil.clusterRule" . }}
{{- end -}}

{{/* The rights of readers and writers in one process; beside upstream it deletes no pod and changes no taint. */}}
{{- define "vigil.controllerRules" -}}
{{- if eq .Values.mode "shadow" -}}
- { apiGroups: [""], resources: [nodes, pods], verbs: [get, list, watch] }
- { apiGroups: [""], resources: [events], verbs: [list] }
{{- else if eq .Values.mode "beside" -}}
- { apiGroups: [""], resources: [nodes, pods], verbs: [get, list, watch] }
- { apiGroups: [""], resources: [nodes/status, pods/status], verbs: [patch] }
- { apiGroups: [""], resources: [events], verbs: [create, patch, list] }
{{- else if eq .Values.mode "taint-eviction-only" -}}
- { apiGroups: [""], resources: [nodes], verbs: [get, list, watch] }
- { apiGroups: [""], resources: [pods], verbs: [get, list, watch, delete] }
- { apiGroups: [""], resources: [pods/eviction], verbs: [create] }
- { apiGroups: [""], resources: [pods/status], verbs: [patch] }
- { apiGroups: [""], resources: [events], verbs: [create, patch, list] }
{{- else -}}
- { apiGroups: [""], resources: [nodes], verbs: [get, list, watch, patch] }
- { apiGroups: [""], resources: [nodes/status, pods/status], verbs: [patch] }
- { apiGroups: [""], resources: [pods], verbs: [get, list, watch, delete] }
- { apiGroups: [""], resources: [pods/eviction], verbs: [create] }
- { apiGroups: [""], resources: [events], verbs: [create, patch, list] }
{{- end }}
{{ include "vigil.freezeRule" . }}
{{ include "vigil.limitsRule" . }}
{{ include "vigil.policyRules" . }}
{{ include "vigil.clusterRule" . }}
{{- end -}}
