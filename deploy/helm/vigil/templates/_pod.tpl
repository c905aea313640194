{{/* What every pod has in common, those of NATS too: where it runs, and that it has no privileges there. */}}

{{/*
A pod leaves a lost node after 30 s. It may start where only Vigil takes the taint off, as in a new cluster, but not on an
unreachable node.
*/}}
{{- define "vigil.placement" -}}
priorityClassName: {{ .Values.pod.priorityClassName }}
{{- with .Values.pod.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
tolerations:
  - { key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 30 }
  - { key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 30 }
  - { key: node.kubernetes.io/not-ready, operator: Exists, effect: NoSchedule }
  - { key: node.kubernetes.io/network-unavailable, operator: Exists, effect: NoSchedule }
  - { key: node.kubernetes.io/memory-pressure, operator: Exists, effect: NoSchedule }
  - { key: node.kubernetes.io/disk-pressure, operator: Exists, effect: NoSchedule }
  - { key: node.kubernetes.io/pid-pressure, operator: Exists, effect: NoSchedule }
  - { key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule }
  - { key: node-role.kubernetes.io/master, operator: Exists, effect: NoSchedule }
  {{- with .Values.pod.tolerations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{/* The pods of one workload prefer different nodes, and different zones. */}}
{{- define "vigil.spread" -}}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels: {{ toJson . }}
      - weight: 50
        podAffinityTerm:
          topologyKey: topology.kubernetes.io/zone
          labelSelector:
            matchLabels: {{ toJson . }}
{{- end -}}

{{- define "vigil.confinement" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* A disruption budget in the version that the API server has. */}}
{{- define "vigil.disruptionBudgetVersion" -}}
{{- if semverCompare "<1.21-0" .Capabilities.KubeVersion.Version }}policy/v1beta1{{ else }}policy/v1{{ end -}}
{{- end -}}

{{- define "vigil.image" -}}
{{- $image := .Values.image -}}
{{- $tagged := printf "%s:%s" $image.repository (default .Chart.AppVersion $image.tag) -}}
{{- if $image.digest }}{{ $image.repository }}@{{ $image.digest }}{{ else }}{{ $tagged }}{{ end -}}
{{- end -}}

{{/* Each process exports its own shards and watch health, so every one is scraped. */}}
{{- define "vigil.podAnnotations" -}}
{{- $annotations := deepCopy .Values.pod.annotations -}}
{{- if .Values.monitoring.annotations -}}
{{- $_ := set $annotations "prometheus.io/scrape" "true" -}}
{{- $_ := set $annotations "prometheus.io/port" "8080" -}}
{{- if eq .Values.console.authentication "kubernetes" }}{{ $_ := set $annotations "prometheus.io/scheme" "https" }}{{ end -}}
{{- end -}}
{{- if $annotations }}{{ toYaml $annotations }}{{ end -}}
{{- end -}}
