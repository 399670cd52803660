// Browsers start no worker from file://. There the search runs in an iframe, which speaks as a worker does.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.body.appendChild(document.createElement("iframe"))
      this.frame.hidden = true
      this.scope = this.frame.contentWindow
      this.scope.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.waiting = []
      const script = this.scope.document.createElement("script")
      script.src = new URL(url, document.baseURI)
      script.onload = () => {
        const waiting = this.waiting
        this.waiting = null
        waiting.forEach(data => this.postMessage(data))
      }
      this.scope.document.body.append(script)
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data)
      else this.scope.dispatchEvent(new MessageEvent("message", { data }))
    }
    terminate() {
      this.frame.remove()
    }
  }
}
