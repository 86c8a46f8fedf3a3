// One stream of events for all tabs of a browser: HTTP/1.1 gives an origin six connections, and a
// stream keeps one of them. A lock chooses the tab that holds it, a channel passes the events on.

import { at } from "./ask.js";

const CHANNEL = "irdaemon";
const AGAIN_MS = 3000;

// Call `heard` with every event, whichever tab it arrives in; browsers without locks get none.
export function listen(heard) {
  if (!navigator.locks || !window.BroadcastChannel) return;
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = ({ data }) => heard(data);
  navigator.locks.request("irdaemon-stream", () => new Promise(() => open(channel, heard)));
}

function open(channel, heard) {
  const source = new EventSource(at("/events"));
  source.onmessage = ({ data }) => {
    const event = JSON.parse(data);
    heard(event);
    channel.postMessage(event);
  };
  source.onerror = () => {
    // It reconnects by itself, but not after an error response.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => open(channel, heard), AGAIN_MS);
  };
}
