import type { ColonnadeViewer, Schema } from "colonnade";
import { type DetailedHTMLProps, type HTMLAttributes, useEffect, useRef } from "react";

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "colonnade-viewer": DetailedHTMLProps<
        HTMLAttributes<ColonnadeViewer> & { src?: string; theme?: string; memory?: string },
        ColonnadeViewer
      >;
    }
  }
}

interface ViewerProps {
  src: string;
  onSchema?: (schema: Schema) => void;
}

/** Shows the table at `src`; the element is registered only in the browser. */
export function Viewer({ src, onSchema }: ViewerProps) {
  const viewer = useRef<ColonnadeViewer>(null);

  useEffect(() => {
    void import("colonnade/define");
  }, []);

  useEffect(() => {
    const element = viewer.current;
    const listener = (event: Event) => onSchema?.((event as CustomEvent<Schema>).detail);
    element?.addEventListener("colonnade-schema", listener);
    return () => element?.removeEventListener("colonnade-schema", listener);
  }, [onSchema]);

  return <colonnade-viewer ref={viewer} src={src} />;
}
